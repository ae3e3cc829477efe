//! Where the content of artifacts is.

use factum_a2a::view::content::Outputs;
use factum_model::value::OutputRef;
use factum_runtime::Runtime;

pub(super) struct Blobs<'a>(pub(super) &'a Runtime);

impl Outputs for Blobs<'_> {
    async fn bytes(&self, output: &OutputRef) -> Option<Vec<u8>> {
        self.0.output_bytes(output).await
    }
}
