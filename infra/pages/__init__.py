"""What is looked at in a browser: charts as SVG and pages as HTML, each one file that loads nothing."""
