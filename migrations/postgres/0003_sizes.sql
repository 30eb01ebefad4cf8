-- The ledger, schema 3: what has to be as fast in a ledger of a million actions as in a new one. Its twin is in the other
-- folder: same tables, columns and names.

-- The domains of known_people with the sum of their times, kept by the triggers below.
CREATE TABLE known_domains (
    environment TEXT NOT NULL,
    domain TEXT NOT NULL,
    times BIGINT NOT NULL CHECK (times >= 0),
    -- The journal's last number when it changed, so that whoever read it before reads on from there; 0 for before.
    changed BIGINT NOT NULL CHECK (changed >= 0),
    PRIMARY KEY (environment, domain)
);
CREATE INDEX known_domains_by_change ON known_domains (environment, changed);

-- What changed the configuration is little; found without walking all deliveries.
CREATE INDEX journal_of_configuration ON journal (kind, seq) WHERE kind IN ('setting_changed', 'device_admitted',
    'device_withdrawn', 'destination_added', 'destination_changed', 'destination_removed', 'destination_paused',
    'destination_resumed', 'source_added', 'source_revoked');

-- What a source handed in and was not taken is little, too.
CREATE INDEX deliveries_not_taken_from ON deliveries (source, n)
    WHERE disposition IN ('conflict', 'not_permitted', 'not_taken');

-- From here on the engines differ. An address has one `@`.

INSERT INTO known_domains (environment, domain, times, changed)
SELECT environment, split_part(email, '@', 2), SUM(times), 0
FROM known_people WHERE position('@' IN email) > 0 GROUP BY 1, 2;

CREATE FUNCTION known_people_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO known_domains AS d (environment, domain, times, changed)
    VALUES (NEW.environment, split_part(NEW.email, '@', 2), NEW.times, (SELECT seq FROM ledger_head))
    ON CONFLICT (environment, domain) DO UPDATE SET times = d.times + excluded.times, changed = excluded.changed;
    RETURN NULL;
END
$$;
CREATE FUNCTION known_people_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE known_domains SET times = times + NEW.times - OLD.times, changed = (SELECT seq FROM ledger_head)
    WHERE environment = NEW.environment AND domain = split_part(NEW.email, '@', 2);
    RETURN NULL;
END
$$;
CREATE TRIGGER known_people_insert AFTER INSERT ON known_people FOR EACH ROW
    WHEN (position('@' IN new.email) > 0) EXECUTE FUNCTION known_people_insert();
CREATE TRIGGER known_people_update AFTER UPDATE OF times ON known_people FOR EACH ROW
    WHEN (new.times <> old.times) EXECUTE FUNCTION known_people_update();

UPDATE schema_version SET version = 3 WHERE one = 1;
