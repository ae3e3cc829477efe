//! A2A on the wire, in front of a server that lives in memory.
