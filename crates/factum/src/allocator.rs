//! Where memory comes from: mimalloc, asked in its shorter way.
//!
//! Commits are made on one thread and freed on another all the time, which the system's allocator does badly.
//!
//! The wrapper that comes with mimalloc asks for every piece by its alignment. Where the list of pieces of that size is empty, and with
//! pieces that come back from other threads that is often, such a request takes a larger piece and aligns it within, for every size
//! that is no power of two. But what mimalloc gives out is aligned to 16 bytes in any case, which is as much as nearly everything
//! needs; so that is asked for by its size alone.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

/// The alignment of everything that mimalloc gives out and that is at least as large.
const ALIGNED_ANYWAY: usize = 16;

pub(crate) struct Mimalloc;

fn is_aligned_anyway(layout: Layout, size: usize) -> bool {
    layout.align() <= ALIGNED_ANYWAY && layout.align() <= size
}

// SAFETY: every piece comes from mimalloc and goes back to it. It is as large as the layout says, and aligned to what the layout
// says: either it was asked for so, or mimalloc promises it (`MI_MAX_ALIGN_SIZE`: pieces are aligned to 16 bytes, smaller ones to their
// size rounded down to a power of two).
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let piece = if is_aligned_anyway(layout, layout.size()) {
            unsafe { mi_malloc(layout.size()) }
        } else {
            unsafe { mi_malloc_aligned(layout.size(), layout.align()) }
        };
        piece.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let piece = if is_aligned_anyway(layout, layout.size()) {
            unsafe { mi_zalloc(layout.size()) }
        } else {
            unsafe { mi_zalloc_aligned(layout.size(), layout.align()) }
        };
        piece.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, _: Layout) {
        unsafe { mi_free(piece.cast::<c_void>()) };
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let piece = if is_aligned_anyway(layout, size) {
            unsafe { mi_realloc(piece.cast(), size) }
        } else {
            unsafe { mi_realloc_aligned(piece.cast(), size, layout.align()) }
        };
        piece.cast()
    }
}
