-- The ledger, schema 1, for SQLite. Its twin is ../postgres/0001_ledger.sql: same tables, columns and names.
-- Times are UTC milliseconds, flags 0 or 1, hashes and ids texts.

CREATE TABLE schema_version (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    version BIGINT NOT NULL
);

-- The journal's last row. Its row lock makes the order of seq the order of commits on PostgreSQL too.
CREATE TABLE ledger_head (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    seq BIGINT NOT NULL CHECK (seq >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64)
);

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    at BIGINT NOT NULL,
    action BIGINT,
    kind TEXT NOT NULL,
    fact TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    previous TEXT NOT NULL CHECK (length(previous) = 64),
    hash TEXT NOT NULL CHECK (length(hash) = 64)
);
CREATE INDEX journal_of_action ON journal (action, seq);

CREATE TABLE settings (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    changed_by TEXT NOT NULL
);

CREATE TABLE people (
    name TEXT PRIMARY KEY NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE devices (
    device TEXT PRIMARY KEY NOT NULL CHECK (length(device) = 16),
    person TEXT NOT NULL REFERENCES people (name),
    public TEXT NOT NULL CHECK (length(public) = 64),
    signature TEXT NOT NULL CHECK (length(signature) = 128),
    admitted_at BIGINT NOT NULL,
    withdrawn_at BIGINT
);

-- A removed destination keeps its row, so that its name is never used again.
CREATE TABLE destinations (
    name TEXT PRIMARY KEY NOT NULL CHECK (length(name) > 0),
    kind TEXT NOT NULL,
    environment TEXT NOT NULL,
    account TEXT NOT NULL CHECK (length(account) = 64),
    account_label TEXT NOT NULL,
    config TEXT NOT NULL,
    undo_seconds BIGINT NOT NULL CHECK (undo_seconds >= 0),
    created_at BIGINT NOT NULL,
    removed_at BIGINT,
    paused_why TEXT,
    paused_since BIGINT,
    paused_until BIGINT,
    CHECK ((paused_why IS NULL) = (paused_since IS NULL)),
    CHECK (paused_until IS NULL OR paused_since IS NOT NULL)
);
CREATE UNIQUE INDEX destinations_account ON destinations (environment, account) WHERE removed_at IS NULL;

CREATE TABLE sources (
    name TEXT PRIMARY KEY NOT NULL CHECK (length(name) > 0),
    environment TEXT NOT NULL,
    effects TEXT NOT NULL,
    destinations TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE CHECK (length(token_hash) = 64),
    signed BIGINT NOT NULL CHECK (signed IN (0, 1)),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

-- value is NULL once purged; the hash stays.
CREATE TABLE conversations (
    hash TEXT PRIMARY KEY NOT NULL CHECK (length(hash) = 64),
    value TEXT
);

-- bytes are NULL once purged; the digest stays.
CREATE TABLE attachments (
    sha256 TEXT PRIMARY KEY NOT NULL CHECK (length(sha256) = 64),
    size BIGINT NOT NULL CHECK (size >= 0),
    bytes BLOB
);

CREATE TABLE deliveries (
    n INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    environment TEXT NOT NULL,
    event_id TEXT,
    request_id TEXT,
    source_version BIGINT,
    content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
    at BIGINT NOT NULL,
    disposition TEXT NOT NULL CHECK (disposition IN ('created', 'duplicate', 'draft_replaced', 'late_draft', 'stale',
        'conflict', 'needs_review', 'not_permitted', 'not_taken')),
    reason TEXT,
    -- The delivery this one repeats.
    first BIGINT REFERENCES deliveries (n),
    run_id TEXT,
    model TEXT,
    draft_reason TEXT
);
CREATE INDEX deliveries_waiting ON deliveries (source, content_hash) WHERE event_id IS NULL;
CREATE INDEX deliveries_not_taken ON deliveries (n) WHERE disposition IN ('conflict', 'not_permitted');

-- The first delivery that was taken under an event id. A refused one leaves the id free.
CREATE TABLE events (
    source TEXT NOT NULL,
    event_id TEXT NOT NULL,
    delivery BIGINT NOT NULL REFERENCES deliveries (n),
    content_hash TEXT NOT NULL,
    PRIMARY KEY (source, event_id)
);

CREATE TABLE actions (
    n INTEGER PRIMARY KEY CHECK (n > 0),
    -- NULL while an identity is missing.
    action_key TEXT UNIQUE,
    idempotency_key TEXT UNIQUE,
    environment TEXT NOT NULL,
    destination TEXT NOT NULL,
    effect TEXT NOT NULL,
    source TEXT NOT NULL,
    request_id TEXT,
    step TEXT NOT NULL,
    revision BIGINT NOT NULL CHECK (revision > 0),
    -- The standing (domain::Standing), determined by the journal.
    state TEXT NOT NULL CHECK (state IN ('prepared', 'needs_review', 'approved', 'in_progress', 'accepted', 'unknown',
        'refused', 'gave_up', 'rejected', 'superseded', 'closed_unknown')),
    attempts BIGINT NOT NULL CHECK (attempts BETWEEN 0 AND 255),
    allowed BIGINT NOT NULL CHECK (allowed BETWEEN 1 AND 255),
    crossed_once BIGINT NOT NULL CHECK (crossed_once IN (0, 1)),
    crossing BIGINT NOT NULL CHECK (crossing IN (0, 1)),
    in_doubt BIGINT NOT NULL CHECK (in_doubt IN (0, 1)),
    revised BIGINT NOT NULL CHECK (revised IN (0, 1)),
    by_word BIGINT NOT NULL CHECK (by_word IN (0, 1)),
    signed BIGINT NOT NULL CHECK (signed IN (0, 1)),
    stale_claims BIGINT NOT NULL CHECK (stale_claims BETWEEN 0 AND 255),
    -- The open attempt and who holds it.
    attempt BIGINT,
    worker TEXT,
    not_before BIGINT NOT NULL,
    waits TEXT NOT NULL CHECK (waits IN ('nothing', 'undo', 'backoff')),
    after_action BIGINT REFERENCES actions (n),
    payload_version BIGINT NOT NULL CHECK (payload_version > 0),
    payload_hash TEXT CHECK (length(payload_hash) = 64),
    wire_hash TEXT CHECK (length(wire_hash) = 64),
    conversation TEXT REFERENCES conversations (hash),
    -- Two actions with the same one never run at once.
    record_key TEXT,
    newest_sequence BIGINT NOT NULL CHECK (newest_sequence >= 0),
    ended_sequence BIGINT NOT NULL CHECK (ended_sequence BETWEEN 0 AND newest_sequence),
    expires_at BIGINT,
    reason TEXT,
    receipt TEXT,
    accepted_at BIGINT,
    by_word_of TEXT,
    unknown_since BIGINT,
    looks BIGINT NOT NULL CHECK (looks >= 0),
    next_look BIGINT,
    first_crossed BIGINT,
    last_crossed BIGINT,
    revises BIGINT REFERENCES actions (n),
    revised_by BIGINT REFERENCES actions (n),
    owner TEXT NOT NULL,
    delivery BIGINT NOT NULL REFERENCES deliveries (n),
    event_id TEXT,
    source_version BIGINT,
    -- Content hash of the newest draft the source handed in for this request and step.
    draft_content TEXT NOT NULL CHECK (length(draft_content) = 64),
    run_id TEXT,
    model TEXT,
    draft_reason TEXT,
    who TEXT NOT NULL,
    email TEXT NOT NULL,
    subject TEXT NOT NULL,
    thread TEXT,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL CHECK (row_version > 0),
    CHECK ((action_key IS NULL) = (idempotency_key IS NULL)),
    CHECK ((action_key IS NULL) = (payload_hash IS NULL)),
    CHECK (action_key IS NOT NULL OR state IN ('needs_review', 'rejected')),
    CHECK (action_key IS NULL OR request_id IS NOT NULL),
    CHECK ((state = 'in_progress') = (attempt IS NOT NULL)),
    CHECK ((state = 'in_progress') = (worker IS NOT NULL)),
    CHECK (crossing = 0 OR (state = 'in_progress' AND crossed_once = 1)),
    CHECK (in_doubt = 0 OR state = 'in_progress'),
    CHECK ((state = 'accepted') = (receipt IS NOT NULL)),
    CHECK ((state = 'accepted') = (accepted_at IS NOT NULL)),
    CHECK (state <> 'unknown' OR unknown_since IS NOT NULL),
    CHECK (state NOT IN ('approved', 'in_progress', 'unknown') OR wire_hash IS NOT NULL),
    CHECK (state <> 'approved' OR newest_sequence > ended_sequence),
    CHECK ((crossed_once = 0) = (first_crossed IS NULL)),
    CHECK ((first_crossed IS NULL) = (last_crossed IS NULL)),
    CHECK (by_word = 0 OR by_word_of IS NOT NULL),
    CHECK (revised = 0 OR revised_by IS NOT NULL)
);
CREATE INDEX actions_page ON actions (environment, n);
CREATE INDEX actions_by_state ON actions (environment, state, n);
CREATE INDEX actions_due ON actions (destination, not_before, n) WHERE state = 'approved';
CREATE INDEX actions_expiring ON actions (expires_at) WHERE state = 'approved';
CREATE INDEX actions_to_look ON actions (next_look) WHERE state = 'unknown';
CREATE INDEX actions_of_request ON actions (source, request_id, step, n);
CREATE INDEX actions_of_thread ON actions (environment, thread, n) WHERE thread IS NOT NULL;
CREATE INDEX actions_of_record ON actions (record_key) WHERE record_key IS NOT NULL;
CREATE INDEX actions_of_conversation ON actions (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX actions_after ON actions (after_action) WHERE after_action IS NOT NULL;
CREATE INDEX actions_created ON actions (created_at, n);

-- What each delivery meant for each of its actions.
CREATE TABLE delivery_actions (
    delivery BIGINT NOT NULL REFERENCES deliveries (n),
    position BIGINT NOT NULL CHECK (position >= 0),
    step TEXT NOT NULL,
    action BIGINT REFERENCES actions (n),
    disposition TEXT NOT NULL,
    reason TEXT,
    payload_version BIGINT,
    PRIMARY KEY (delivery, position)
);
CREATE INDEX delivery_actions_of_action ON delivery_actions (action, delivery);

-- Who an action goes to; lower case.
CREATE TABLE action_people (
    action BIGINT NOT NULL REFERENCES actions (n),
    email TEXT NOT NULL,
    PRIMARY KEY (action, email)
);
CREATE INDEX action_people_by_email ON action_people (email, action);

-- How often mail to an address was accepted, per environment; zero for a customer who only wrote to us.
CREATE TABLE known_people (
    environment TEXT NOT NULL,
    email TEXT NOT NULL,
    times BIGINT NOT NULL CHECK (times >= 0),
    PRIMARY KEY (environment, email)
);

-- value is NULL once purged; the hash stays.
CREATE TABLE payloads (
    action BIGINT NOT NULL REFERENCES actions (n),
    version BIGINT NOT NULL CHECK (version > 0),
    value TEXT,
    -- NULL while the action has no key.
    hash TEXT CHECK (length(hash) = 64),
    content TEXT NOT NULL CHECK (length(content) = 64),
    by_whom TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (action, version),
    UNIQUE (action, version, hash)
);

CREATE TABLE payload_attachments (
    action BIGINT NOT NULL,
    version BIGINT NOT NULL,
    sha256 TEXT NOT NULL REFERENCES attachments (sha256),
    PRIMARY KEY (action, version, sha256),
    FOREIGN KEY (action, version) REFERENCES payloads (action, version)
);
CREATE INDEX payload_attachments_by_digest ON payload_attachments (sha256);

-- bytes are NULL once purged; the hash stays.
CREATE TABLE wires (
    action BIGINT NOT NULL REFERENCES actions (n),
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    bytes BLOB,
    at BIGINT NOT NULL,
    PRIMARY KEY (action, hash)
);

CREATE TABLE approvals (
    n INTEGER PRIMARY KEY,
    action BIGINT NOT NULL REFERENCES actions (n),
    sequence BIGINT NOT NULL CHECK (sequence > 0),
    payload_version BIGINT NOT NULL,
    payload_hash TEXT NOT NULL,
    wire_hash TEXT NOT NULL,
    account TEXT NOT NULL CHECK (length(account) = 64),
    conversation TEXT,
    by_whom TEXT NOT NULL,
    device TEXT NOT NULL,
    at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    signature TEXT NOT NULL CHECK (length(signature) = 128),
    UNIQUE (action, sequence),
    FOREIGN KEY (action, payload_version, payload_hash) REFERENCES payloads (action, version, hash),
    FOREIGN KEY (action, wire_hash) REFERENCES wires (action, hash)
);

CREATE TABLE attempts (
    n INTEGER PRIMARY KEY,
    action BIGINT NOT NULL REFERENCES actions (n),
    number BIGINT NOT NULL CHECK (number > 0),
    worker TEXT NOT NULL,
    claimed_at BIGINT NOT NULL,
    in_doubt BIGINT NOT NULL CHECK (in_doubt IN (0, 1)),
    noted TEXT,
    crossed_at BIGINT,
    closed_at BIGINT,
    outcome TEXT CHECK (outcome IN ('accepted', 'refused', 'not_sent', 'unclear')),
    evidence TEXT,
    receipt TEXT,
    -- What came after it was closed: a JSON array.
    late TEXT,
    UNIQUE (action, number),
    CHECK ((closed_at IS NULL) = (outcome IS NULL)),
    CHECK (evidence IS NULL OR closed_at IS NOT NULL),
    CHECK (receipt IS NULL OR outcome = 'accepted'),
    CHECK (outcome <> 'accepted' OR (receipt IS NOT NULL AND crossed_at IS NOT NULL))
);
CREATE UNIQUE INDEX attempts_open ON attempts (action) WHERE closed_at IS NULL;

CREATE TABLE sightings (
    n INTEGER PRIMARY KEY,
    action BIGINT NOT NULL REFERENCES actions (n),
    at BIGINT NOT NULL,
    sighting TEXT NOT NULL,
    conclusive BIGINT NOT NULL CHECK (conclusive IN (0, 1))
);
CREATE INDEX sightings_of_action ON sightings (action, n);

-- A person's signed word on an unknown action.
CREATE TABLE verdicts (
    n INTEGER PRIMARY KEY,
    action BIGINT NOT NULL REFERENCES actions (n),
    word TEXT NOT NULL
);
CREATE INDEX verdicts_of_action ON verdicts (action, n);

CREATE TABLE cleared (
    action BIGINT NOT NULL REFERENCES actions (n),
    version BIGINT NOT NULL,
    code TEXT NOT NULL,
    field TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (action, version, code, field)
);

CREATE TABLE filings (
    action BIGINT PRIMARY KEY NOT NULL REFERENCES actions (n),
    state TEXT NOT NULL CHECK (state IN ('not_needed', 'waiting', 'already_present', 'filed', 'failed')),
    text TEXT NOT NULL,
    next_at BIGINT,
    tries BIGINT NOT NULL CHECK (tries >= 0),
    changed_at BIGINT NOT NULL
);
CREATE INDEX filings_due ON filings (next_at) WHERE next_at IS NOT NULL;

-- What a person is typing. Not part of any decision.
CREATE TABLE kept_texts (
    action BIGINT NOT NULL REFERENCES actions (n),
    by_whom TEXT NOT NULL,
    text TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (action, by_whom)
);

-- Actions whose search entry is behind.
CREATE TABLE index_queue (
    action BIGINT PRIMARY KEY NOT NULL
);

-- One row per action, numbered like it; the index below reads its words from here.
CREATE TABLE search_docs (
    n INTEGER PRIMARY KEY,
    who TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    tags TEXT NOT NULL
);

-- From here on the engines differ.

CREATE VIRTUAL TABLE search_index USING fts5 (
    who, subject, body, tags,
    content = 'search_docs', content_rowid = 'n', prefix = '2 3 4 5', tokenize = 'unicode61 remove_diacritics 2'
);
-- Merging is done when nothing waits, in bounded steps; never inside an insert.
INSERT INTO search_index (search_index, rank) VALUES ('automerge', 0);
INSERT INTO search_index (search_index, rank) VALUES ('crisismerge', 200);

CREATE TRIGGER search_docs_insert AFTER INSERT ON search_docs BEGIN
    INSERT INTO search_index (rowid, who, subject, body, tags) VALUES (new.n, new.who, new.subject, new.body, new.tags);
END;
CREATE TRIGGER search_docs_delete AFTER DELETE ON search_docs BEGIN
    INSERT INTO search_index (search_index, rowid, who, subject, body, tags)
    VALUES ('delete', old.n, old.who, old.subject, old.body, old.tags);
END;
CREATE TRIGGER search_docs_update AFTER UPDATE ON search_docs BEGIN
    INSERT INTO search_index (search_index, rowid, who, subject, body, tags)
    VALUES ('delete', old.n, old.who, old.subject, old.body, old.tags);
    INSERT INTO search_index (rowid, who, subject, body, tags) VALUES (new.n, new.who, new.subject, new.body, new.tags);
END;

-- Whatever changes what a search can find puts the action on the list of those to index.
CREATE TRIGGER actions_index_insert AFTER INSERT ON actions
    BEGIN INSERT INTO index_queue (action) VALUES (new.n) ON CONFLICT DO NOTHING; END;
CREATE TRIGGER actions_index_update AFTER UPDATE ON actions
    WHEN new.state <> old.state OR new.payload_version <> old.payload_version OR new.subject <> old.subject
    BEGIN INSERT INTO index_queue (action) VALUES (new.n) ON CONFLICT DO NOTHING; END;

-- What was written stays as it was written.
CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_in_order BEFORE INSERT ON journal
    WHEN new.seq <> (SELECT seq FROM ledger_head) + 1 OR new.previous <> (SELECT hash FROM ledger_head)
    BEGIN SELECT RAISE(ABORT, 'a journal row follows the head'); END;
CREATE TRIGGER journal_moves_head AFTER INSERT ON journal
    BEGIN UPDATE ledger_head SET seq = new.seq, hash = new.hash WHERE one = 1; END;
CREATE TRIGGER approvals_no_update BEFORE UPDATE ON approvals BEGIN SELECT RAISE(ABORT, 'approvals are append-only'); END;
CREATE TRIGGER approvals_no_delete BEFORE DELETE ON approvals BEGIN SELECT RAISE(ABORT, 'approvals are append-only'); END;
CREATE TRIGGER sightings_no_update BEFORE UPDATE ON sightings BEGIN SELECT RAISE(ABORT, 'sightings are append-only'); END;
CREATE TRIGGER sightings_no_delete BEFORE DELETE ON sightings BEGIN SELECT RAISE(ABORT, 'sightings are append-only'); END;
CREATE TRIGGER verdicts_no_update BEFORE UPDATE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER verdicts_no_delete BEFORE DELETE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER deliveries_no_update BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'deliveries are append-only'); END;
CREATE TRIGGER deliveries_no_delete BEFORE DELETE ON deliveries BEGIN SELECT RAISE(ABORT, 'deliveries are append-only'); END;
CREATE TRIGGER delivery_actions_no_update BEFORE UPDATE ON delivery_actions
    BEGIN SELECT RAISE(ABORT, 'deliveries are append-only'); END;
CREATE TRIGGER delivery_actions_no_delete BEFORE DELETE ON delivery_actions
    BEGIN SELECT RAISE(ABORT, 'deliveries are append-only'); END;
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER actions_no_delete BEFORE DELETE ON actions BEGIN SELECT RAISE(ABORT, 'actions are never deleted'); END;
CREATE TRIGGER actions_key_stays BEFORE UPDATE ON actions
    WHEN old.action_key IS NOT NULL AND (new.action_key IS NULL OR new.action_key <> old.action_key
        OR new.idempotency_key <> old.idempotency_key)
    BEGIN SELECT RAISE(ABORT, 'an action key never changes'); END;
CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts are never deleted'); END;
CREATE TRIGGER attempts_closed_stays BEFORE UPDATE ON attempts
    WHEN old.closed_at IS NOT NULL AND (new.closed_at IS NULL OR new.closed_at <> old.closed_at
        OR new.outcome <> old.outcome OR (new.crossed_at IS NOT NULL AND old.crossed_at IS NULL))
    BEGIN SELECT RAISE(ABORT, 'a closed attempt stays as it was closed'); END;
CREATE TRIGGER attempts_crossing_stays BEFORE UPDATE ON attempts
    WHEN old.crossed_at IS NOT NULL AND (new.crossed_at IS NULL OR new.crossed_at <> old.crossed_at)
    BEGIN SELECT RAISE(ABORT, 'a crossing is never taken back'); END;
-- A purge takes the body and nothing else.
CREATE TRIGGER payloads_no_update BEFORE UPDATE ON payloads
    WHEN new.value IS NOT NULL OR new.action <> old.action OR new.version <> old.version OR new.hash IS NOT old.hash
        OR new.content <> old.content OR new.by_whom <> old.by_whom OR new.at <> old.at
    BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER payloads_no_delete BEFORE DELETE ON payloads BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER wires_no_update BEFORE UPDATE ON wires
    WHEN new.bytes IS NOT NULL OR new.action <> old.action OR new.hash <> old.hash OR new.at <> old.at
    BEGIN SELECT RAISE(ABORT, 'wires are append-only'); END;
CREATE TRIGGER wires_no_delete BEFORE DELETE ON wires BEGIN SELECT RAISE(ABORT, 'wires are append-only'); END;
CREATE TRIGGER attachments_no_update BEFORE UPDATE ON attachments
    WHEN (old.bytes IS NOT NULL AND new.bytes IS NOT NULL) OR new.sha256 <> old.sha256 OR new.size <> old.size
    BEGIN SELECT RAISE(ABORT, 'attachments are append-only'); END;
CREATE TRIGGER conversations_no_update BEFORE UPDATE ON conversations
    WHEN (old.value IS NOT NULL AND new.value IS NOT NULL) OR new.hash <> old.hash
    BEGIN SELECT RAISE(ABORT, 'conversations are append-only'); END;

INSERT INTO ledger_head (one, seq, hash)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO schema_version (one, version) VALUES (1, 1);
