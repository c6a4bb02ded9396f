"""From the splits to tables: means and stability (``aggregate``), and all tables of the report (``tables``).

``differences`` compares experiment 2 with the paper's tables (``paper``); ``explanations`` tests causes of differences.
"""
