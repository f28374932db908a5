"""Reports of runs as single HTML files that need no network: `write_report`, and the sections of the page."""

from hdpkit.report.material import Material
from hdpkit.report.section import Content, Section
from hdpkit.report.sections import SECTIONS
from hdpkit.report.write import write_report

__all__ = ["SECTIONS", "Content", "Material", "Section", "write_report"]
