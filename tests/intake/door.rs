//! Who gets in, and how much of it.

use crate::wire::{Door, email, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use testkit::peers;

#[test]
fn f51_a_foreign_host_or_origin_is_403_on_every_path_and_nothing_is_taken() {
    let door = Door::open();
    let bearer = format!("Bearer {}", door.token);
    let body = email("evt-1", "r-1").to_string();
    let (host, evil) = (door.host(), format!("evil.example:{}", door.port));
    let own_origin = format!("http://{host}");
    let strangers: [&[(&str, &str)]; 5] = [
        &[("Host", &evil)],
        &[("Host", "127.0.0.1")],
        &[("Host", &host), ("Host", &evil)],
        &[("Host", &host), ("Origin", "https://evil.example")],
        &[("Host", &host), ("Origin", "null")],
    ];
    let calls =
        [("POST", "/v1/proposals"), ("GET", "/v1/actions?request_id=r-1"), ("GET", "/v1/openapi.json"), ("GET", "/x")];
    for headers in strangers {
        for (method, path) in calls {
            let with: Vec<_> = headers.iter().copied().chain([("Authorization", bearer.as_str())]).collect();
            let reply = door.raw(method, path, &with, body.as_bytes());
            // Two Host headers may be refused by the parser of HTTP already.
            assert!(reply.status == 403 || (headers.len() == 2 && headers[1].0 == "Host" && reply.status == 400));
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
    }
    let line = door.raw("GET", "http://evil.example/v1/openapi.json", &[("Host", &host)], b"");
    assert_eq!(line.status, 403, "a host named in the request line counts too");
    assert_eq!(door.cli.ok(&["list"])["actions"], serde_json::json!([]), "no card");
    let preflight = door.raw("OPTIONS", "/v1/proposals", &[("Host", &host), ("Origin", "https://evil.example")], b"");
    assert_eq!(preflight.status, 403, "no CORS");
    let ours = [("Host", host.as_str()), ("Origin", &own_origin), ("Authorization", &bearer)];
    door.raw("POST", "/v1/proposals", &ours, body.as_bytes()).expect(201);
}

#[test]
fn r40_a_path_that_is_no_text_names_no_action() {
    let door = Door::open();
    let (host, bearer) = (door.host(), format!("Bearer {}", door.token));
    let headers = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
    for path in ["/v1/actions/%ff", "/v1/actions/%c3%28", "/v1/actions/A-99"] {
        let reply = door.raw("GET", path, &headers, b"").expect(404);
        assert_eq!(text(&reply.error()["code"]), "not_found", "{path}");
    }
    door.raw("GET", "/v1/actions/%ff", &headers[..1], b"").expect(401);
}

#[test]
fn r09_a_wrong_token_is_401() {
    let door = Door::open();
    let host = door.host();
    let body = email("evt-1", "r-1").to_string();
    for headers in [
        &[("Host", host.as_str())][..],
        &[("Host", &host), ("Authorization", "Bearer wrong")],
        &[("Host", &host), ("Authorization", "Bearer ")],
        &[("Host", &host), ("Authorization", "Basic Ym90OmJvdA==")],
    ] {
        let reply = door.raw("POST", "/v1/proposals", headers, body.as_bytes()).expect(401);
        assert_eq!((text(&reply.error()["code"]), reply.header("www-authenticate")), ("not_permitted", Some("Bearer")));
        door.raw("GET", "/v1/actions/A-1", headers, b"").expect(401);
    }
    assert_eq!(door.cli.ok(&["list"])["actions"], serde_json::json!([]));
}

#[test]
fn f15_no_question_changes_anything() {
    let door = Door::open();
    let made = door.post(&email("evt-1", "r-1")).expect(201).json();
    let (id, key) = (text(&made["actions"][0]["id"]), text(&made["actions"][0]["idempotency_key"]));
    let before = door.seq();
    let described = door.get("/v1/openapi.json").expect(200).json();
    let mut paths: Vec<String> = described["paths"].as_object().expect("paths").keys().cloned().collect();
    paths.extend([
        format!("/v1/actions/{id}?decision=approve"),
        format!("/v1/actions/{key}"),
        format!("/v1/actions/{id}/approve"),
        "/v1/actions?request_id=r-1&approve=1".to_owned(),
        "/v1/proposals?event_id=evt-2".to_owned(),
        "/".to_owned(),
    ]);
    for path in paths.iter().map(|p| p.replace("{id}", id)) {
        for method in ["GET", "HEAD"] {
            let reply = door.as_source(&door.token, method, &path, &[], b"");
            assert!([200, 404, 405, 422].contains(&reply.status), "{method} {path}: {}", reply.status);
        }
    }
    assert_eq!(door.seq(), before, "the journal did not move");
    assert_eq!(door.cli.ok(&["show", id])["state"], "prepared");
}

#[test]
fn f15_nothing_at_this_door_decides() {
    let door = Door::open();
    let made = door.post(&email("evt-1", "r-1")).expect(201).json();
    let id = text(&made["actions"][0]["id"]);
    let described = door.get("/v1/openapi.json").expect(200).json();
    let calls: Vec<&str> = described["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
    assert_eq!(calls, ["/v1/actions", "/v1/actions/{id}", "/v1/openapi.json", "/v1/proposals"]);
    let statuses = described["paths"]["/v1/proposals"]["post"]["responses"].as_object().expect("responses");
    for status in ["200", "201", "400", "401", "403", "409", "413", "422", "429"] {
        assert!(statuses.contains_key(status), "{status} is described");
    }
    let told = &described["webhooks"]["outcome"]["post"];
    assert!(told["requestBody"]["content"]["application/json"]["schema"].is_object(), "outcomes are described: {told}");
    for call in calls.iter().filter(|call| **call != "/v1/proposals") {
        let answers = &described["paths"][*call]["get"]["responses"];
        assert!(answers["403"].is_object(), "{call}: a stranger's Host is answered with 403");
    }
    for path in [format!("/v1/actions/{id}"), format!("/v1/actions/{id}/approve"), "/v1/approvals".to_owned()] {
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let reply = door.as_source(&door.token, method, &path, &[], b"{}");
            assert!([404, 405].contains(&reply.status), "{method} {path}: {}", reply.status);
            assert_eq!(reply.error()["message"].as_str().map(str::is_empty), Some(false));
        }
    }
    assert_eq!(door.cli.ok(&["show", id])["state"], "prepared");
}

#[test]
fn r09_a_body_over_the_limit_is_413_before_it_is_read() {
    let door = Door::open();
    let (host, bearer) = (door.host(), format!("Bearer {}", door.token));
    let headers = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
    let reply = door.announced("POST", "/v1/proposals", &headers, b"", 35 * 1024 * 1024 + 1).expect(413);
    assert_eq!(reply.error()["code"], "bad_input");
}

#[test]
fn r09_a_body_that_announces_no_length_is_413_once_it_is_over_the_limit_and_leaves_nothing() {
    let door = Door::open();
    let (host, bearer, before) = (door.host(), format!("Bearer {}", door.token), door.seq());
    let headers = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
    let piece = vec![b' '; 1024 * 1024];
    let reply = door.chunked("/v1/proposals", &headers, &piece, 36).expect(413);
    assert_eq!(reply.error()["code"], "bad_input");
    assert_eq!(door.seq(), before);
    // One that stays below it is read to its end, and is no proposal.
    let small = door.chunked("/v1/proposals", &headers, b" ", 3);
    assert!([400, 422].contains(&small.status), "{}", small.body);
}

#[test]
fn r09_the_hundred_and_twenty_first_proposal_of_a_minute_waits() {
    let door = Door::open();
    let began = Instant::now();
    let (mut taken, mut reply) = (0, door.post_text(b"{}", &[]));
    while reply.status != 429 {
        assert_eq!(reply.status, 422, "nothing else is refused");
        assert!(taken < 1_000, "no limit was met");
        (taken, reply) = (taken + 1, door.post_text(b"{}", &[]));
    }
    // A place comes back every half second, however slow this run is.
    let most = 120 + began.elapsed().as_millis() / 500 + 1;
    assert!(taken >= 120 && taken <= most, "{taken} of at most {most}");
    let wait: u64 = reply.header("retry-after").and_then(|v| v.parse().ok()).expect("it says how long");
    assert!((1..=60).contains(&wait), "{wait}");
    let other = door.source("other", &[])["token"].as_str().expect("a token").to_owned();
    let body = email("evt-1", "r-1").to_string();
    door.as_source(&other, "POST", "/v1/proposals", &[], body.as_bytes()).expect(201);
}

/// HMAC-SHA256 by its definition (RFC 2104), so that the product's own code is not its judge.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |byte: u8| block.map(|b| b ^ byte);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}

#[test]
fn r09_a_source_signs_the_standard_webhooks_way() {
    let door = Door::open();
    let made = door.source("signer", &["--signed"]);
    let key = STANDARD.decode(text(&made["signing_secret"]).trim_start_matches("whsec_")).expect("base64");
    let host = door.host();
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let post = |id: &str, seconds: u64, body: &str, signed: &str| {
        let message = format!("{id}.{seconds}.{signed}");
        let signature = format!("v1,{}", STANDARD.encode(hmac(&key, message.as_bytes())));
        let at = seconds.to_string();
        let headers = [
            ("Host", host.as_str()),
            ("webhook-id", id),
            ("webhook-timestamp", &at),
            ("webhook-signature", &signature),
        ];
        door.raw("POST", "/v1/proposals", &headers, body.as_bytes())
    };
    let body = email("evt-1", "r-1").to_string();
    let first = post("msg_1", seconds, &body, &body).expect(201).json();
    assert_eq!(first["actions"][0]["key"]["source"], "signer");
    let again = post("msg_1", seconds, &body, &body).expect(200).json();
    assert_eq!(again["actions"][0]["disposition"], "duplicate", "played back, it is a recorded delivery");
    let other = email("evt-2", "r-2").to_string();
    assert_eq!(post("msg_2", seconds, &other, &body).expect(401).error()["field"], "webhook-signature");
    assert_eq!(post("msg_3", seconds - 301, &other, &other).expect(401).error()["field"], "webhook-timestamp");
    door.cli.ok(&["source", "revoke", "signer"]);
    post("msg_4", seconds, &other, &other).expect(401);
}

#[test]
fn r09_what_the_standard_webhooks_library_signs_is_taken_beside_signatures_of_another_key() {
    let door = Door::open();
    let secret = text(&door.source("signer", &["--signed"])["signing_secret"]).to_owned();
    let host = door.host();
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let body = email("evt-1", "r-1").to_string();
    let (at, old) = (seconds.to_string(), format!("whsec_{}", STANDARD.encode([7_u8; 32])));
    let post = |id: &str, signature: &str, body: &str| {
        let headers = [
            ("Host", host.as_str()),
            ("webhook-id", id),
            ("webhook-timestamp", at.as_str()),
            ("webhook-signature", signature),
        ];
        door.raw("POST", "/v1/proposals", &headers, body.as_bytes())
    };
    let (good, stale) = (peers::sign(&secret, "msg_1", seconds, &body), peers::sign(&old, "msg_1", seconds, &body));
    post("msg_1", &stale, &body).expect(401);
    post("msg_1", &format!("{stale} v1a,AAAA {good}"), &body).expect(201);
    let again = post("msg_1", &good, &body).expect(200).json();
    assert_eq!(again["actions"][0]["disposition"], "duplicate", "the same message again is a recorded repeat");
    post("msg_2", &good, &body).expect(401);
}

#[test]
fn r09_the_door_opens_on_loopback_only() {
    let door = Door::open();
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80", "127.0.0.1", "shop.example:80", "127.0.0.1:99999"] {
        let refused = door.cli.run(&["serve", "--listen", listen]).expect(2);
        assert_eq!(refused.error()["field"], "listen", "{listen}");
    }
}
