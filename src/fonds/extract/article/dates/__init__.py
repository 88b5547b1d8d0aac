"""The dates of a page: the days that stand in text, the signs of what they are, and the choice among them."""

from fonds.extract.article.dates.finding import STATED, Dated, Dates, Layout, find_dates, url_day

__all__ = ["STATED", "Dated", "Dates", "Layout", "find_dates", "url_day"]
