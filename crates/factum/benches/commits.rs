//! `cargo bench -p factum --bench commits`: the same as `factum bench commits`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("commits")
}
