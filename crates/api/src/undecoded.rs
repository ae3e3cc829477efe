//! gRPC messages that could not be read. The library refuses them before any service sees them, in words and with numbers of
//! its own; here they become what `docs/reference/errors.md` says of the same fault everywhere else.

use factum_model::{ErrorCode, Refusal};
use tonic::{Code, Status};

use crate::grpc::ERROR_METADATA;

/// Where A2A's statuses have their details.
const DETAILS: &str = "grpc-status-details-bin";

/// What a service of the library answers with.
pub(crate) type GrpcResponse = http::Response<tonic::body::Body>;

/// A response as it is, unless it is the library's about a message it could not read. Services of ours put details beside
/// every refusal, so a status without any is not theirs.
pub(crate) fn reworded<B: Default>(
    response: http::Response<B>,
    max: usize,
    status: impl FnOnce(&Refusal) -> Status,
) -> http::Response<B> {
    let headers = response.headers();
    if headers.contains_key(ERROR_METADATA) || headers.contains_key(DETAILS) {
        return response;
    }
    let Some(said) = Status::from_header_map(headers) else { return response };
    let refusal = match said.code() {
        Code::OutOfRange => {
            let message = format!("the message is larger than body_bytes_max, {max} bytes");
            Refusal::new(ErrorCode::LimitExceeded, message)
                .with("limit", serde_json::json!({ "name": "body_bytes", "max": max }))
        }
        Code::Internal => Refusal::invalid(format!("the message cannot be read: {}", said.message())),
        _ => return response,
    };
    status(&refusal).into_http()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::status;

    #[test]
    fn only_what_the_library_says_is_reworded() {
        let details = Status::with_details(Code::Internal, "ours", b"details".to_vec().into());
        let table = [
            (Status::out_of_range("too much"), Code::ResourceExhausted),
            (Status::internal("no protobuf"), Code::InvalidArgument),
            (Status::unimplemented("no such method"), Code::Unimplemented),
            (status(&Refusal::internal("ours")), Code::Internal),
            (details, Code::Internal),
        ];
        for (said, expected) in table {
            let told = said.to_string();
            let response = reworded(said.into_http::<()>(), 7, status);
            let now = Status::from_header_map(response.headers()).expect("a status");
            assert_eq!(now.code(), expected, "{told}");
        }
    }
}
