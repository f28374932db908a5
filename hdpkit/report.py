"""Reports of runs as single HTML files that need no network: `write_report`, and the sections of the page."""

from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content, Section
from hdpkit.pages.sections import SECTIONS
from hdpkit.pages.write import write_report

__all__ = ["SECTIONS", "Content", "ReportData", "Section", "write_report"]
