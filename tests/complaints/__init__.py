"""What users of other completers complained of most, and what they would see here.

The numbers in the tests' names are those of the list of 25 complaints that this product answers. A test asserts what
somebody at an editor sees, on the whole way but the model, whose text is a script (desk.py). More than one test may
have a number, and tests elsewhere look closer: these say that the complaint does not hold.

In part:

    10  letters that stay behind when a suggestion is accepted within the editor's own delay: the delay is the editor's.
        Tested is that a fresh suggestion, at the new cursor, is there at once.
    13  flicker that an editor makes by asking again. Tested is that the answer is the same while one types along.
    14  that the editor reports what was accepted: no client does so by itself. Tested is that the rest is there at
        once.
     7  at the very margin of a line a suggestion begins with the blanks that are missing, since nothing stands there
        that it could take the place of. Tested is every place behind a margin.
    16  a daemon stays when the last editor has gone, by design. Tested is that its clients' processes and texts do not.
    17  that a graphics card's clocks go down: no test runs on one. Tested is that a model that nobody uses is let go
        of, and comes back.
    18  what wakes up more seldom than every second and a half is not noticed.
     4  budgets are not looked at when the daemon starts. Tested is that a request that cannot be served says why.
    15  there is no budget of memory or time for each client. Tested is that one client's text does not push out what
        was read of another's.
    23  no model is asked to fill something when it is loaded. Tested is what is said of one that cannot.
    24  a password of plain words that stands without quotes is read, and a token that is typed so far that it does not
        look like one yet.

The place where the editor is installed and how (a server in each window, popups of extensions) is not this daemon's.
"""
