//! `factum dev`: on loopback anybody is somebody, from elsewhere nobody is.

use std::net::Ipv6Addr;

use super::*;

async fn caller(dev: bool, authorization: Option<&str>, peer: IpAddr) -> Option<(String, String, Scopes)> {
    let world = World::new().await;
    let options = AuthOptions { dev, ..AuthOptions::default() };
    let authenticator = Authenticator::new(world.runtime.clone(), options).await.unwrap();
    match authenticator.authenticate(authorization, peer).await {
        Ok(caller) => Some((caller.principal.to_string(), caller.account.to_string(), (*caller.scopes).clone())),
        Err(refusal) => {
            assert_eq!(refusal, unauthenticated());
            None
        }
    }
}

#[tokio::test]
async fn loopback_peers_may_name_themselves() {
    let is = |principal: &str, account: &str, scopes| Some((principal.to_owned(), account.to_owned(), scopes));
    let mapped: IpAddr = Ipv4Addr::LOCALHOST.to_ipv6_mapped().into();
    for peer in [LOOPBACK, Ipv6Addr::LOCALHOST.into(), mapped] {
        assert_eq!(caller(true, None, peer).await, is("agent://local", "dev", Scopes::admin()));
        let named = caller(true, Some("Bearer dev:agent://ada"), peer).await;
        assert_eq!(named, is("agent://ada", "dev", Scopes::member()));
        let elsewhere = caller(true, Some("Bearer dev:agent://ada@acme"), peer).await;
        assert_eq!(elsewhere, is("agent://ada", "acme", Scopes::member()));
    }
}

#[tokio::test]
async fn a_bad_credential_is_not_the_same_as_none() {
    for header in
        ["", "Bearer", "Bearer x", "Basic x", "Bearer dev:agent://a@..", "Bearer dev:agent://a b", "Bearer fct_x"]
    {
        assert_eq!(caller(true, Some(header), LOOPBACK).await, None, "{header:?}");
    }
}

#[tokio::test]
async fn from_elsewhere_or_without_dev_nothing_of_this_works() {
    let unspecified = Ipv4Addr::UNSPECIFIED.into();
    for (dev, peer) in [(true, ELSEWHERE), (true, unspecified), (false, LOOPBACK), (false, ELSEWHERE)] {
        for header in [None, Some("Bearer dev:agent://ada"), Some("Bearer dev:agent://ada@acme")] {
            assert_eq!(caller(dev, header, peer).await, None, "{dev} {peer} {header:?}");
        }
    }
}
