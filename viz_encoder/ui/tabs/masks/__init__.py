"""The Masks tab: a mask painted, run, proved and given as code."""
