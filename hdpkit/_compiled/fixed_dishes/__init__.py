"""New groups under dishes with fixed statistics: fold-in, left-to-right evaluation, fitted proportions."""
