//! Scenes of one connection on which a member presents a token (OAUTHBEARER).

use kafka_protocol::messages::ApiKey;

use super::scenes::{BRIEF_MS, LOGIN, REFUSAL, Scene, asked, outlast_the_session, plain};
use crate::kafka::TOKEN;

const BEARER: [(&str, &str); 2] =
    [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", "OAUTHBEARER")];
const FIND: [ApiKey; 1] = [ApiKey::FindCoordinator];

#[test]
fn a_token_is_presented_once_and_read_again_for_the_next_session() {
    let (port, seen) = plain(BRIEF_MS);
    let mut scene = Scene::of(port, &BEARER, &[(TOKEN, "good.1\n")]);
    scene.find().unwrap();
    scene.rewrite(TOKEN, "bad.2");
    outlast_the_session();
    let (why, refused) = scene.find().unwrap_err();
    assert!(refused && why.contains(REFUSAL), "{why}");
    assert!(!why.contains("bad.2"), "{why}");
    let again = [LOGIN[0], LOGIN[1], LOGIN[1]];
    let expected = [&[ApiKey::ApiVersions][..], &LOGIN, &FIND, &again].concat();
    assert_eq!(asked(&seen), expected, "the refusal is answered, and then its reason read");
}

#[test]
fn a_token_that_is_gone_or_none_is_no_reason_to_connect_with_the_old_one() {
    for (written, said) in [("", "is empty"), ("two words", "holds no token")] {
        let (port, seen) = plain(BRIEF_MS);
        let mut scene = Scene::of(port, &BEARER, &[(TOKEN, "good.1")]);
        scene.find().unwrap();
        scene.rewrite(TOKEN, written);
        outlast_the_session();
        let (why, refused) = scene.find().unwrap_err();
        assert!(refused && why.contains(said), "{why}");
        let place = "cannot log in with the token in file ";
        assert!(why.starts_with(place) && why.contains("it is read again"), "{why}");
        let expected = [&[ApiKey::ApiVersions][..], &LOGIN, &FIND, &[LOGIN[0]]].concat();
        assert_eq!(asked(&seen), expected);
    }
}
