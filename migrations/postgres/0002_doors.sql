-- The ledger, schema 2: what the doors remember. Its twin is in the other folder: same tables, columns and names.

-- What a request under an Idempotency-Key was answered with. Forgotten after 24 hours.
CREATE TABLE kept_answers (
    source TEXT NOT NULL,
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL CHECK (length(body) = 64),
    status BIGINT NOT NULL CHECK (status BETWEEN 100 AND 599),
    answer TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (source, route, key)
);
CREATE INDEX kept_answers_by_age ON kept_answers (at);

-- Where a source is told of outcomes. Its signing secret is in the secrets store.
CREATE TABLE outcome_hooks (
    source TEXT PRIMARY KEY NOT NULL REFERENCES sources (name),
    url TEXT NOT NULL,
    added_at BIGINT NOT NULL
);

-- One outcome fact to be told, numbered like its journal row. The body is written once, so every try carries the same bytes.
CREATE TABLE outcome_calls (
    seq BIGINT PRIMARY KEY NOT NULL CHECK (seq > 0),
    source TEXT NOT NULL,
    action BIGINT NOT NULL REFERENCES actions (n),
    message_id TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'stopped')),
    tries BIGINT NOT NULL CHECK (tries >= 0),
    -- What the last try came to; without addresses.
    last TEXT,
    changed_at BIGINT NOT NULL,
    next_at BIGINT,
    CHECK ((state = 'waiting') = (next_at IS NOT NULL))
);
CREATE INDEX outcome_calls_due ON outcome_calls (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX outcome_calls_of_source ON outcome_calls (source, seq);

UPDATE schema_version SET version = 2 WHERE one = 1;
