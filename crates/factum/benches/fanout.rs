//! `cargo bench -p factum --bench fanout`: the same as `factum bench fanout`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("fanout")
}
