//! Cron expressions: what they mean, and what happens when clocks are changed.

use factum_model::Timestamp;
use jiff::tz::TimeZoneDatabase;

use super::cron::Cron;

/// The first times of an expression after `after`, in local time with the offset.
fn check(cron: &str, zone: &str, after: &str, expected: &[&str]) {
    let zone = TimeZoneDatabase::bundled().get(zone).expect("a time zone");
    let parsed = Cron::parse(cron).expect("a cron expression");
    let mut time: Timestamp = after.parse().expect("a time");
    let mut times = Vec::new();
    for _ in expected {
        time = parsed.next(time, &zone).expect("a time");
        times.push(time.to_zoned(zone.clone()).strftime("%F %H:%M%:z").to_string());
    }
    assert_eq!(times, expected, "{cron}");
}

#[test]
fn fields_mean_what_cron_says() {
    let after = "2027-01-15T08:00:00Z"; // A Friday.
    let table: [(&str, &[&str]); 12] = [
        ("* * * * *", &["2027-01-15 08:01+00:00", "2027-01-15 08:02+00:00"]),
        ("*/20 * * * *", &["2027-01-15 08:20+00:00", "2027-01-15 08:40+00:00", "2027-01-15 09:00+00:00"]),
        ("5,50 7 * * *", &["2027-01-16 07:05+00:00", "2027-01-16 07:50+00:00"]),
        (
            "0 9-17/4 * * 1-5",
            &["2027-01-15 09:00+00:00", "2027-01-15 13:00+00:00", "2027-01-15 17:00+00:00", "2027-01-18 09:00+00:00"],
        ),
        ("0 0 * * sun", &["2027-01-17 00:00+00:00"]),
        ("0 0 * * 7", &["2027-01-17 00:00+00:00"]),
        ("0 0 1 JAN,jul *", &["2027-07-01 00:00+00:00", "2028-01-01 00:00+00:00"]),
        // Either day field is enough where both are restricted …
        (
            "0 0 13 * fri",
            &[
                "2027-01-22 00:00+00:00",
                "2027-01-29 00:00+00:00",
                "2027-02-05 00:00+00:00",
                "2027-02-12 00:00+00:00",
                "2027-02-13 00:00+00:00",
            ],
        ),
        // … and both are needed where one begins with a star.
        ("0 0 */2 * mon", &["2027-01-25 00:00+00:00", "2027-02-01 00:00+00:00", "2027-02-15 00:00+00:00"]),
        ("0 0 31 * *", &["2027-01-31 00:00+00:00", "2027-03-31 00:00+00:00"]),
        ("0 0 29 2 *", &["2028-02-29 00:00+00:00", "2032-02-29 00:00+00:00"]),
        ("30/15 6 * * *", &["2027-01-16 06:30+00:00", "2027-01-16 06:45+00:00", "2027-01-17 06:30+00:00"]),
    ];
    for (cron, expected) in table {
        check(cron, "UTC", after, expected);
    }
}

#[test]
fn clocks_that_go_forward_lose_nothing_that_was_fixed() {
    // In Vienna 02:00 becomes 03:00 on 2027-03-28.
    let after = "2027-03-27T12:00:00Z";
    check("30 2 * * *", "Europe/Vienna", after, &["2027-03-28 03:00+02:00", "2027-03-29 02:30+02:00"]);
    check("15,45 2 * * *", "Europe/Vienna", after, &["2027-03-28 03:00+02:00", "2027-03-29 02:15+02:00"]);
    check("0 3 * * *", "Europe/Vienna", after, &["2027-03-28 03:00+02:00", "2027-03-29 03:00+02:00"]);
    check("0 4 * * *", "Europe/Vienna", after, &["2027-03-28 04:00+02:00"]);
    check("30 * * * *", "Europe/Vienna", "2027-03-28T00:00:00Z", &["2027-03-28 01:30+01:00", "2027-03-28 03:30+02:00"]);
}

#[test]
fn clocks_that_go_back_repeat_only_what_is_for_every_hour() {
    // In Vienna 03:00 becomes 02:00 on 2027-10-31.
    let after = "2027-10-30T12:00:00Z";
    check("30 2 * * *", "Europe/Vienna", after, &["2027-10-31 02:30+02:00", "2027-11-01 02:30+01:00"]);
    check(
        "30 * * * *",
        "Europe/Vienna",
        "2027-10-31T00:00:00Z",
        &["2027-10-31 02:30+02:00", "2027-10-31 02:30+01:00", "2027-10-31 03:30+01:00"],
    );
    check(
        "*/30 * * * *",
        "Europe/Vienna",
        "2027-10-31T00:30:00Z",
        &["2027-10-31 02:00+01:00", "2027-10-31 02:30+01:00", "2027-10-31 03:00+01:00"],
    );
}

#[test]
fn clocks_that_change_at_midnight() {
    // In Beirut 00:00 becomes 01:00 on 2027-03-28, in Havana 01:00 becomes 00:00 on 2027-11-07.
    check("0 0 * * *", "Asia/Beirut", "2027-03-27T12:00:00Z", &["2027-03-28 01:00+03:00", "2027-03-29 00:00+03:00"]);
    check(
        "30 0 * * *",
        "America/Havana",
        "2027-11-06T12:00:00Z",
        &["2027-11-07 00:30-04:00", "2027-11-08 00:30-05:00"],
    );
}

#[test]
fn what_is_not_cron_is_refused() {
    for text in [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "5-1 * * * *",
        "a * * * *",
        "+5 * * * *",
        "1, * * * *",
        "*/-1 * * * *",
        "1-2-3 * * * *",
    ] {
        assert!(Cron::parse(text).is_err(), "{text:?}");
    }
    assert_eq!(Cron::parse("0 0 31 2 *").expect("parses").next(Timestamp::UNIX_EPOCH, &jiff::tz::TimeZone::UTC), None);
}
