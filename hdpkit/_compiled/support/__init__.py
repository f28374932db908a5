"""Code that all compiled modules use: checks of arguments, the lock, deferred Ctrl-C."""
