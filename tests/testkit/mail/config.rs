//! The servers' configuration files, as measured to work on Debian 12 (Postfix 3.7, Dovecot 2.3).

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::scratch::Scratch;

use super::{BUSY, DOMAIN, PASSWORD, Ports, REFUSED, REFUSED_SUBJECT, SignIn, USERS};

static ROOT: LazyLock<bool> = LazyLock::new(|| {
    let id = Command::new("id").arg("-u").output().expect("id runs");
    id.stdout.trim_ascii() == b"0"
});

/// What stands before a command that needs root: nothing for root itself.
pub(super) fn sudo() -> &'static str {
    if *ROOT { "" } else { "sudo -n" }
}

pub(super) fn as_root(program: &str) -> Command {
    // Debian keeps the daemons where a plain user's PATH does not look.
    let found = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .iter()
        .map(|dir| format!("{dir}/{program}"))
        .find(|path| std::path::Path::new(path).exists())
        .unwrap_or_else(|| program.to_owned());
    if *ROOT {
        return Command::new(found);
    }
    let mut command = Command::new("sudo");
    command.arg("-n").arg(found);
    command
}

pub(super) fn write(dir: &Scratch, ports: &Ports, capabilities: &str, sign_in: Option<&SignIn>) {
    let t = dir.path().to_str().expect("temp paths are plain");
    certificates(dir);
    let users: String = USERS.iter().map(|user| format!("{user}:{{PLAIN}}{PASSWORD}::::::\n")).collect();
    dir.write("dc/users", users);
    dir.write("dc/dovecot.conf", dovecot(t, ports, capabilities, sign_in));
    if let Some(SignIn { introspect, .. }) = sign_in {
        let lines = "username_attribute = username\nactive_attribute = active\nactive_value = true\n";
        dir.write("dc/oauth2", format!("introspection_mode = post\nintrospection_url = {introspect}\n{lines}"));
    }
    dir.write("pf/etc/main.cf", main_cf(t, ports));
    dir.write("pf/etc/master.cf", master_cf(ports));
    for folder in ["dc/run", "dc/state", "dc/mail", "pf/spool", "pf/data"] {
        std::fs::create_dir_all(dir.join(folder)).expect("a folder for the servers");
    }
    own("mail:mail", &dir.join("dc/mail"));
    own("postfix", &dir.join("pf/data"));
    // Postfix insists that its configuration belongs to root.
    own("root", &dir.join("pf/etc/main.cf"));
    own("root", &dir.join("pf/etc/master.cf"));
}

fn own(who: &str, path: &std::path::Path) {
    let done = as_root("chown").arg(who).arg(path).status().expect("chown runs");
    assert!(done.success(), "chown {who}: are Postfix and Dovecot installed, and is this root or sudo?");
}

fn certificates(dir: &Scratch) {
    dir.write("tls/ext", "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=serverAuth\n");
    let ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let openssl = |args: &[&str]| {
        let done = Command::new("openssl")
            .args(args)
            .current_dir(dir.join("tls"))
            .stdout(Stdio::null())
            .output()
            .expect("openssl is installed");
        assert!(done.status.success(), "openssl: {}", String::from_utf8_lossy(&done.stderr));
    };
    let ca = ["req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=Test Mail CA"];
    let ca_ext = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"];
    openssl(&[&ca[..], &ec, &ca_ext].concat());
    openssl(&[&["req", "-keyout", "srv.key", "-out", "srv.csr", "-subj", "/CN=localhost"][..], &ec].concat());
    openssl(&[
        "x509",
        "-req",
        "-in",
        "srv.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "30",
        "-extfile",
        "ext",
        "-out",
        "srv.pem",
    ]);
}

fn dovecot(t: &str, ports: &Ports, capabilities: &str, sign_in: Option<&SignIn>) -> String {
    let told = if capabilities.is_empty() { String::new() } else { format!("  imap_capability = {capabilities}\n") };
    let Ports { imap, imaps, lmtp, sasl, .. } = ports;
    let folders = ["Drafts", "Sent", "Trash"]
        .map(|name| format!("  mailbox {name} {{\n    special_use = \\{name}\n    auto = subscribe\n  }}\n"))
        .concat();
    let mechanisms = sign_in.map_or("plain login", |s| s.mechanisms);
    let tokens = match sign_in {
        Some(_) => {
            format!("passdb {{\n  driver = oauth2\n  mechanisms = xoauth2 oauthbearer\n  args = {t}/dc/oauth2\n}}\n")
        }
        None => String::new(),
    };
    format!(
        "base_dir = {t}/dc/run
state_dir = {t}/dc/state
log_path = {t}/dc/log
protocols = imap lmtp
listen = 127.0.0.1
mail_uid = mail
mail_gid = mail
first_valid_uid = 1
first_valid_gid = 1
auth_username_format = %Lu
auth_mechanisms = {mechanisms}
auth_failure_delay = 0
disable_plaintext_auth = no
ssl = yes
ssl_cert = <{t}/tls/srv.pem
ssl_key = <{t}/tls/srv.key
mail_home = {t}/dc/mail/%Ln
mail_location = mdbox:~/mdbox
lda_mailbox_autocreate = yes
recipient_delimiter = +
lmtp_save_to_detail_mailbox = yes
postmaster_address = postmaster@{DOMAIN}
hostname = mail.{DOMAIN}
{tokens}passdb {{
  driver = passwd-file
  args = scheme=PLAIN username_format=%Ln {t}/dc/users
}}
userdb {{
  driver = passwd-file
  args = username_format=%Ln {t}/dc/users
}}
namespace inbox {{
  inbox = yes
  separator = /
{folders}}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
    ssl = yes
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp}
  }}
}}
service auth {{
  inet_listener sasl {{
    address = 127.0.0.1
    port = {sasl}
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
protocol imap {{
  mail_max_userip_connections = 100
{told}}}
"
    )
}

fn main_cf(t: &str, ports: &Ports) -> String {
    let Ports { lmtp, sasl, .. } = ports;
    format!(
        "compatibility_level = 3.6
queue_directory = {t}/pf/spool
data_directory = {t}/pf/data
mail_owner = postfix
setgid_group = postdrop
myhostname = mail.{DOMAIN}
mydomain = {DOMAIN}
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks =
maillog_file = {t}/pf/mail.log
maillog_file_prefixes = {t}
alias_maps =
alias_database =
local_recipient_maps =
local_transport = error:5.1.1 no local delivery
default_transport = error:5.4.4 this test server sends nothing outside
relay_transport = error:5.4.4 no relay
virtual_mailbox_domains = {DOMAIN}
virtual_transport = lmtp:inet:127.0.0.1:{lmtp}
recipient_delimiter = +
smtputf8_enable = yes
message_size_limit = 26214400
smtpd_peername_lookup = no
disable_dns_lookups = yes
biff = no
smtpd_tls_security_level = may
smtpd_tls_cert_file = {t}/tls/srv.pem
smtpd_tls_key_file = {t}/tls/srv.key
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:{sasl}
smtpd_sasl_auth_enable = yes
smtpd_tls_auth_only = no
smtpd_relay_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = check_recipient_access inline:{{ {{ {REFUSED} = 550 5.1.1 no such mailbox }} {{ {BUSY} = 450 4.2.1 try again later }} }}, permit
smtpd_timeout = 30s
header_checks = regexp:{{ {{ /^Subject:.*{REFUSED_SUBJECT}/ REJECT 5.7.1 this content is not taken }} }}
transport_maps = inline:{{ {{ dave@{DOMAIN} = lmtp7:inet:127.0.0.1:{lmtp} }} }}
"
    )
}

fn master_cf(ports: &Ports) -> String {
    let Ports { submission, submission_files_copy, smtps, .. } = ports;
    let mut bcc = String::new();
    for user in USERS {
        write!(bcc, "{{ {user}@{DOMAIN} = {user}+Sent@{DOMAIN} }} ").expect("text grows");
    }
    let smtpd = format!(
        "127.0.0.1:{submission} inet n - n - - smtpd
127.0.0.1:{smtps} inet n - n - - smtpd
  -o smtpd_tls_wrappermode=yes
127.0.0.1:{submission_files_copy} inet n - n - - smtpd
  -o cleanup_service_name=cleanup2
cleanup2 unix n - n - 0 cleanup
  -o {{ sender_bcc_maps = inline:{{ {bcc}}} }}
lmtp7 unix - - n - - lmtp
  -o lmtp_discard_lhlo_keywords=8bitmime
"
    );
    let inner = "pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
";
    smtpd + inner
}
