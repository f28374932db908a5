"""What all compiled code needs: checks of arguments, the turn, Ctrl-C held back."""
