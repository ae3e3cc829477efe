//! `cargo bench -p factum --bench sessions`: the same as `factum bench sessions`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("sessions")
}
