"""New groups under dishes with fixed statistics: fold-in and left-to-right evaluation."""
