//! The order of the sources, and what is said about mistakes.

use std::path::Path;

use super::*;

fn load(file: &str, env: &[(&str, &str)], flags: Flags) -> Result<Loaded, String> {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let loaded = Loaded::from_sources(Some((Path::new("/etc/factum.toml"), file)), &env, &flags);
    loaded.map_err(|error| format!("{error:#}"))
}

#[test]
fn flags_win_over_the_environment_over_the_file_over_defaults() {
    let port = |loaded: Result<Loaded, String>| loaded.unwrap().settings.server.listen.port();
    let file = "[server]\nlisten = '127.0.0.1:1'";
    let env = [("FACTUM_LISTEN", "127.0.0.1:2")];
    let flags = || Flags::default().with("server", "listen", Some("127.0.0.1:3".into()));
    assert_eq!(port(load("", &[], Flags::default())), 7420);
    assert_eq!(port(load(file, &[], Flags::default())), 1);
    assert_eq!(port(load(file, &env, Flags::default())), 2);
    assert_eq!(port(load(file, &env, flags())), 3);
    assert_eq!(port(load("", &[], flags())), 3);
}

#[test]
fn every_setting_can_be_given_in_the_environment_under_the_name_the_reference_says() {
    for setting in Settings::sections().into_iter().flat_map(|section| section.settings) {
        let value = match setting.kind {
            "text or json" => "json",
            "error, warn, info, debug or trace" => "debug",
            "a list of issuers" => "[]",
            "a list of networks" => "10.0.0.0/8",
            "true or false" => "true",
            "accept or refuse" => "accept",
            "an address such as 127.0.0.1:7420" => "127.0.0.1:9",
            _ => "77",
        };
        let loaded = load("", &[(setting.env.as_str(), value)], Flags::default()).unwrap();
        assert!(loaded.is_given(setting.section, setting.name), "{}", setting.env);
        assert_eq!(loaded.warnings, Vec::<String>::new());
    }
}

#[test]
fn names_of_variables_are_unique() {
    let mut names: Vec<String> =
        Settings::sections().into_iter().flat_map(|section| section.settings).map(|setting| setting.env).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn mistakes_are_named_with_their_place_and_the_nearest_name() {
    for (file, expected) in [
        ("[server]\nlisten = 7", "/etc/factum.toml: server.listen: expected an address such as 127.0.0.1:7420, got 7"),
        ("[server]\nlistn = ''", "/etc/factum.toml: there is no setting server.listn; did you mean \"listen\"?"),
        ("[servr]\nlisten = ''", "/etc/factum.toml: there is no setting servr.listen; did you mean \"server\"?"),
        ("[server]\nbatch_max = 3", "/etc/factum.toml: there is no setting server.batch_max; it belongs to [limits]"),
        ("listen = ''", "/etc/factum.toml: listen stands outside of any section; put it below [server]"),
        ("[limits]\nbatch_max = 0", "/etc/factum.toml: limits.batch_max: expected a whole number of at least 1, got 0"),
    ] {
        assert_eq!(load(file, &[], Flags::default()).unwrap_err(), expected);
    }
    let error = load("", &[("FACTUM_LOG_LEVEL", "loud")], Flags::default()).unwrap_err();
    assert_eq!(error, "FACTUM_LOG_LEVEL: log.level: expected error, warn, info, debug or trace, got \"loud\"");
    assert!(load("= 1", &[], Flags::default()).unwrap_err().starts_with("/etc/factum.toml is not TOML: "));
}

#[test]
fn variables_that_are_nearly_ours_are_warned_about_and_others_are_left_alone() {
    let env = [("FACTUM_LISTN", "x"), ("FACTUM_SERVICE_HOST", "x"), ("FACTUM_TOKEN", "x"), ("PATH", "x")];
    let warnings = load("", &env, Flags::default()).unwrap().warnings;
    let expected = "the variable FACTUM_LISTN is not a setting and is ignored; did you mean \"FACTUM_LISTEN\"?";
    assert_eq!(warnings, vec![expected.to_owned()]);
}

#[test]
fn paths_in_a_file_are_relative_to_it() {
    let file = "[store]\ndata_dir = 'data'\n[agents]\nscripts = ['a.toml', '/b.toml']";
    let settings = load(file, &[], Flags::default()).unwrap().settings;
    assert_eq!(settings.store.data_dir, Path::new("/etc/data"));
    assert_eq!(settings.agents.scripts, vec![PathBuf::from("/etc/a.toml"), PathBuf::from("/b.toml")]);
    let settings = load(file, &[("FACTUM_DATA_DIR", "here")], Flags::default()).unwrap().settings;
    assert_eq!(settings.store.data_dir, Path::new("here"));
}
