//! `cargo bench -p factum --bench resume`: the same as `factum bench resume`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("resume")
}
