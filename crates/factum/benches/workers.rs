//! `cargo bench -p factum --bench workers`: the same as `factum bench workers`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("workers")
}
