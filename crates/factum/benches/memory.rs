//! `cargo bench -p factum --bench memory`: the same as `factum bench memory`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("memory")
}
