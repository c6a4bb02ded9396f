"""What pages are drawn with: the frame, parts that follow the workbench, fields with help, small pictures."""
