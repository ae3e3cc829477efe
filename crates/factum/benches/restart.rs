//! `cargo bench -p factum --bench restart`: the same as `factum bench restart`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("restart")
}
