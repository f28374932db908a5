"""Reading data, writing results, and the demo corpus."""
