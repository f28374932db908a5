"""A run as one HTML file that needs no network: `write_report`, and the sections that it is made of."""

from hdpkit.report.material import Material
from hdpkit.report.section import Content, Section
from hdpkit.report.sections import SECTIONS
from hdpkit.report.write import write_report

__all__ = ["SECTIONS", "Content", "Material", "Section", "write_report"]
