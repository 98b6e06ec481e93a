-- The trial's own ticket and the one beside it. :number is bound by the driver, never pasted.
INSERT INTO tickets (number, subject) VALUES (:number, 'Telephone line is dead');
INSERT INTO tickets (number, subject) VALUES (:number + 1, 'Telephone line crackles');
