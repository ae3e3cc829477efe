//! Putting many rows into a table, in the order of their keys.
//!
//! It owns the one cursor of such a run. LMDB looks for a key's page from the root, unless the key lies within the page
//! where the cursor stands; so rows that lie in order next to each other are put without being looked for.
//!
//! Invariant: what is put comes from outside of the transaction, since putting moves what lies in its pages.

use heed::{PutFlags, RwIter, RwTxn};

use super::{IndexError, Raw, Table};

pub(super) struct Rows<'t> {
    cursor: RwIter<'t, Raw, Raw>,
}

impl<'t> Rows<'t> {
    pub(super) fn of(table: &Table, txn: &'t mut RwTxn<'_>) -> Result<Self, IndexError> {
        Ok(Self { cursor: table.iter_mut(txn)? })
    }

    /// Puts a row wherever it belongs; in any order, and soonest where it belongs close behind the one before.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        // SAFETY: nothing that was read in this transaction is held, as the cursor borrows the transaction for writing and
        // is never moved by reading. Without a flag the row goes to where its key belongs, not to where the cursor stands.
        #[allow(unsafe_code)]
        unsafe {
            self.cursor.put_current_with_options::<Raw>(PutFlags::empty(), key, value)?;
        }
        Ok(())
    }
}
