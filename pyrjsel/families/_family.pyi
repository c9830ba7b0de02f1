# Functions for compiled code alone; see _family.pxd.
