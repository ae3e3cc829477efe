//! What is counted is shown, under names a caller cannot choose.

use super::*;

#[test]
fn codes_are_counted_under_their_own_names() {
    for (index, code) in ErrorCode::ALL.into_iter().enumerate() {
        assert_eq!(code as usize, index);
        assert_eq!(code_label(outcome(Some(code))), code.as_str());
    }
    assert_eq!(code_label(outcome(None)), "ok");
}

#[test]
fn what_was_counted_is_shown() {
    let source: Source = Box::new(|| vec![("factum_store_syncs_total", "Syncs.", 3.0), ("factum_x", "An\nx.", 0.5)]);
    let metrics = Arc::new(Metrics::new(vec![source]));
    metrics.request(Transport::Grpc, "submit_turn", None, metrics.start());
    metrics.request(Transport::Http, "get_task", Some(ErrorCode::NotFound), metrics.start());
    metrics.request(Transport::Http, "no\"such{command}", Some(ErrorCode::NotFound), metrics.start());
    metrics.events_sent(Transport::Sse, 7);
    let (connection, stream) = (metrics.connection(), metrics.stream(Transport::WebSocket));
    let page = metrics.render();
    for line in [
        "factum_requests_total{transport=\"grpc\",command=\"submit_turn\",code=\"ok\"} 1",
        "factum_requests_total{transport=\"http\",command=\"get_task\",code=\"not_found\"} 1",
        "factum_requests_total{transport=\"http\",command=\"other\",code=\"not_found\"} 1",
        "factum_request_duration_seconds_bucket{command=\"submit_turn\",le=\"+Inf\"} 1",
        "factum_request_duration_seconds_count{command=\"get_task\"} 1",
        "factum_connections_open 1",
        "factum_streams_open{transport=\"websocket\"} 1",
        "factum_streams_open{transport=\"sse\"} 0",
        "factum_events_sent_total{transport=\"sse\"} 7",
        "# TYPE factum_store_syncs_total counter",
        "factum_store_syncs_total 3",
        "# HELP factum_x An\\nx.",
        "# TYPE factum_x gauge",
        "factum_x 0.5",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line} is not in\n{page}");
    }
    drop((connection, stream));
    let page = metrics.render();
    assert!(page.contains("factum_connections_open 0") && page.contains("{transport=\"websocket\"} 0"));
}

#[test]
fn buckets_add_up_and_a_bound_belongs_to_its_bucket() {
    let histogram = Histogram::default();
    for micros in [1, 100, 101, 1_000, 60_000_000] {
        histogram.record(std::time::Duration::from_micros(micros));
    }
    let mut page = Page(String::new());
    histogram.render(&mut page, "command=\"x\"");
    let value = |le: &str| {
        let start = format!("factum_request_duration_seconds_bucket{{command=\"x\",le=\"{le}\"}} ");
        page.0.lines().find_map(|line| line.strip_prefix(&start)).unwrap().to_owned()
    };
    assert_eq!(["0.0001", "0.00025", "0.001", "30", "+Inf"].map(value), ["2", "3", "4", "4", "5"]);
    assert!(page.0.contains("_sum{command=\"x\"} 60.001202"));
}

#[test]
fn every_line_is_a_comment_or_a_sample() {
    let metrics = Metrics::new(Vec::new());
    for info in COMMANDS {
        metrics.request(Transport::Rpc, info.name, Some(ErrorCode::Internal), metrics.start());
    }
    for line in metrics.render().lines() {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(line.starts_with('#') || (name.starts_with("factum_") && value.parse::<f64>().is_ok()), "{line}");
    }
}
