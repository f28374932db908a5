"""New groups under dishes whose statistics stay as they are: fold-in and left-to-right evaluation."""
