//! `cargo bench -p factum --bench http`: the same as `factum bench http`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("http")
}
