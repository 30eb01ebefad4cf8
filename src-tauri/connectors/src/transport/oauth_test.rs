use super::*;
use toml::Table;

const REFRESH: &str = "canary-REFRESH-1";
const SECRET: &str = "canary/SECRET+2";

fn table(text: &str) -> Table {
    text.parse().expect("it is TOML")
}

fn client(more: &str) -> OAuth {
    let text = format!(
        "auth = \"oauth\"\ntoken_endpoint = \"https://id.example/oauth/v1/token\"\nclient_id = \"a b\"\n{more}"
    );
    let config = OAuthConfig::read(&table(&text), false).expect("it holds").expect("it is OAuth");
    config.client(Trust::load(None, std::path::Path::new(".")).expect("no file is named"))
}

fn reply(status: u16, kind: &str, headers: &[(&str, &str)], body: &str) -> HttpReply {
    let mut all = vec![("content-type".to_owned(), kind.to_owned())];
    all.extend(headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
    HttpReply { status, headers: all, body: body.as_bytes().to_vec(), ahead_seconds: None }
}

fn of(status: u16, body: &str) -> Result<Granted, NotGranted> {
    read(&reply(status, "application/json; charset=utf-8", &[], body), &[Some(REFRESH), Some(SECRET)])
}

#[test]
fn r34_the_request_is_the_one_of_the_standard() {
    // RFC 6749, 6 and 2.3.1: a form; the client's name and secret in its body, or encoded as basic.
    let (request, credentials) = client("").request(REFRESH, Some(SECRET));
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/oauth/v1/token"));
    assert_eq!(request.headers, [("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())]);
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        "grant_type=refresh_token&refresh_token=canary-REFRESH-1&client_id=a+b&client_secret=canary%2FSECRET%2B2"
    );
    assert!(credentials.is_empty());
    let (request, credentials) = client("client_auth = \"basic\"\n").request(REFRESH, Some(SECRET));
    assert_eq!(String::from_utf8(request.body).unwrap(), "grant_type=refresh_token&refresh_token=canary-REFRESH-1");
    let basic = format!("Basic {}", STANDARD.encode("a+b:canary%2FSECRET%2B2"));
    assert!(credentials.holds("authorization", &basic));
    // A program that can keep no secret names itself in the body.
    let (request, _) = client("client_auth = \"basic\"\n").request(REFRESH, None);
    assert!(String::from_utf8(request.body).unwrap().ends_with("&client_id=a+b"));
}

#[test]
fn r34_answers_with_and_without_what_the_standard_leaves_open() {
    let granted = |access: &str, refresh: Option<&str>, seconds: Option<u64>| {
        let (access_token, refresh_token) = (access.to_owned(), refresh.map(str::to_owned));
        Ok(Granted { access_token, refresh_token, lifetime: seconds.map(Duration::from_secs) })
    };
    // The example of RFC 6749, 5.1.
    let example = r#"{"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"example","expires_in":3600,
        "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA","example_parameter":"example_value"}"#;
    let bearer = example.replace("\"token_type\":\"example\"", "\"token_type\":\"Bearer\"");
    let known = granted("2YotnFZFEjr1zCsicMWpAA", Some("tGzv3JOkF0XG5Qx2TlKWIA"), Some(3600));
    assert_eq!(of(200, &bearer), known);
    assert_eq!(of(200, &bearer.replace("3600", "\"3600\"")), known, "a number written as a text");
    assert!(matches!(of(200, example), Err(NotGranted::Later { .. })), "a kind of token that is not ours");
    assert_eq!(of(200, r#"{"access_token":"a","token_type":"bearer"}"#), granted("a", None, None));
    assert_eq!(of(200, r#"{"access_token":"a","expires_in":-5}"#), granted("a", None, Some(0)));
    assert_eq!(of(200, r#"{"access_token":"a","expires_in":1e30}"#), granted("a", None, Some(LIFE_MAX)));
    assert_eq!(of(200, r#"{"access_token":"a","refresh_token":"","expires_in":null}"#), granted("a", None, None));
    for odd in [r#"{"access_token":""}"#, r#"{"access_token":"a\r\nb"}"#, "{}", "[]", "not JSON"] {
        assert!(matches!(of(200, odd), Err(NotGranted::Later { .. })), "{odd}");
    }
    assert_eq!(format!("{:?}", of(200, &bearer).unwrap()), "Granted(…)");
}

#[test]
fn r34_only_the_endpoints_own_no_loses_a_sign_in() {
    let signs_in = |status, body: &str| matches!(of(status, body), Err(NotGranted::SignIn { .. }));
    for error in ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_request", "interaction_required"] {
        for status in [200, 400, 401] {
            assert!(signs_in(status, &format!("{{\"error\":\"{error}\"}}")), "{error} {status}");
        }
    }
    // HubSpot's own form.
    assert!(signs_in(400, r#"{"status":"BAD_REFRESH_TOKEN","message":"missing or invalid refresh token"}"#));
    let no = r#"{"error":"invalid_grant"}"#;
    for (status, body) in [
        (500, no),
        (503, no),
        (429, no),
        (404, no),
        (400, r#"{"error":"temporarily_unavailable"}"#),
        (403, r#"{"message":"Forbidden"}"#),
        // What gateways say by themselves: API Gateway, Kong, Spring, Envoy.
        (401, r#"{"message":"Unauthorized"}"#),
        (401, r#"{"message":"No API key found in request","request_id":"1"}"#),
        (401, r#"{"timestamp":"2026-11-02T09:15:00Z","status":401,"error":"Unauthorized","path":"/token"}"#),
        (401, r#"{"error":"unauthorized"}"#),
        (401, "{}"),
        (400, r#"{"status":400,"error":"Bad Request"}"#),
        (302, ""),
    ] {
        assert!(matches!(of(status, body), Err(NotGranted::Later { .. })), "{status} {body}");
    }
    // A portal's page, a gateway's page.
    for status in [200, 400, 401, 511] {
        let page = reply(status, "text/html", &[("retry-after", "17")], "<html>sign in to the network</html>");
        let later = read(&page, &[]);
        assert!(
            matches!(&later, Err(NotGranted::Later { retry_after: Some(wait), .. }) if wait.as_secs() == 17),
            "{later:?}"
        );
    }
}

#[test]
fn r31_no_token_and_no_address_is_in_the_words() {
    let body = format!(
        "{{\"error\":\"invalid_grant\",\"error_description\":\"Token {REFRESH} of robin@x.example with {SECRET} was revoked\"}}"
    );
    let Err(NotGranted::SignIn { why }) = of(400, &body) else { panic!("a person must sign in") };
    assert!(why.contains("sign in again") && why.contains("invalid_grant") && why.contains("was revoked"), "{why}");
    assert!(!why.contains("canary") && !why.contains('@'), "{why}");
}

#[test]
fn r34_a_half_made_sign_in_is_refused_by_the_fields_name() {
    let field = |text: &str| OAuthConfig::read(&table(text), false).expect_err(text).field;
    assert_eq!(OAuthConfig::read(&table("auth = \"password\"\nclient_auth = \"body\""), false), Ok(None));
    assert_eq!(field("auth = \"oauth\"\nclient_id = \"x\""), "token_endpoint");
    assert_eq!(field("auth = \"oauth\"\ntoken_endpoint = \"https://id.example/t\""), "client_id");
    assert_eq!(
        field("auth = \"oauth\"\ntoken_endpoint = \"http://id.example/t\"\nclient_id = \"x\""),
        "token_endpoint"
    );
    assert_eq!(field("token_endpoint = \"https://id.example/t\""), "token_endpoint");
    assert_eq!(OAuthConfig::checked(&table("auth = \"key\""), &["token", "oauth"]).unwrap_err().field, "auth");
}
