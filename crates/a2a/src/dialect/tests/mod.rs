//! Each version's requests as they are understood, and its answers as they are written, as literals.

mod answers;
mod requests;
