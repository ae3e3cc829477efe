//! `cargo bench -p factum --bench tasks`: the same as `factum bench tasks`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("tasks")
}
