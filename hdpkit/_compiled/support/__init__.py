"""Code that all compiled modules use: checks of arguments, the turn, deferred Ctrl-C."""
