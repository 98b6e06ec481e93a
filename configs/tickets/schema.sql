-- What every trial begins with.
CREATE TABLE tickets (
    id bigserial PRIMARY KEY,
    number integer NOT NULL UNIQUE,
    subject text NOT NULL,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closed')),
    note text,
    changed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE billing (
    id bigserial PRIMARY KEY,
    number integer NOT NULL REFERENCES tickets (number),
    minutes integer NOT NULL
);

-- What the screen has said; an echo, no part of the record.
CREATE TABLE screen_log (id bigserial PRIMARY KEY, banner text NOT NULL);

INSERT INTO tickets (number, subject) VALUES (1, 'Printer on fire; again');
