//! The seam to the transports: what the binary uses of `factum_api`, and the store's figures it shows there.

use std::sync::Arc;

use factum_store::EmbeddedStore;

pub(crate) use factum_api::{
    A2aOptions, AuthOptions, CardKey, ClientContexts, IssuerKeys, IssuerOptions, ServerOptions, StoreStats, TransportLimits, bind,
    stdio,
};

/// The figures of a store for `/metrics`.
pub(crate) fn store_stats(store: Arc<EmbeddedStore>) -> StoreStats {
    Arc::new(move || {
        let stats = store.stats();
        vec![
            ("factum_store_position", "Position of the newest durable commit.", stats.position as f64),
            ("factum_store_segments", "Segments of the log.", stats.segments as f64),
            ("factum_store_queued", "Commits waiting for the writer.", stats.queued as f64),
            ("factum_store_overlay_commits", "Commits not yet in the derived index.", stats.overlay_commits as f64),
            ("factum_store_overlay_entries", "Index entries only in memory.", stats.overlay_entries as f64),
            ("factum_store_overlay_bytes", "Memory of what is not yet in the index.", stats.overlay_bytes as f64),
            ("factum_store_commits_total", "Durable commits since the start.", stats.commits as f64),
            ("factum_store_records_total", "Durable records since the start.", stats.records as f64),
            ("factum_store_log_bytes_total", "Bytes written to the log since the start.", stats.log_bytes as f64),
            ("factum_store_syncs_total", "Writes to the log, each with one sync.", stats.syncs as f64),
            ("factum_store_largest_batch", "Most commits that shared a sync.", stats.largest_batch as f64),
            ("factum_store_checkpoints_total", "Times the derived index was written.", stats.checkpoints as f64),
        ]
    })
}
