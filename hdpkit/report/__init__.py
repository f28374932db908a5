"""Reports of runs as single HTML files that need no network: `write_report`, and the sections of the page."""

from hdpkit.report.report_data import ReportData
from hdpkit.report.section import Content, Section
from hdpkit.report.sections import SECTIONS
from hdpkit.report.write import write_report

__all__ = ["SECTIONS", "Content", "ReportData", "Section", "write_report"]
