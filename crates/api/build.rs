//! Compiles the gRPC definitions with `protox`, so that no protoc has to be installed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/factum.proto");
    let files = protox::compile(["proto/factum.proto"], ["proto"])?;
    tonic_prost_build::configure().build_client(true).compile_fds(files)?;
    Ok(())
}
