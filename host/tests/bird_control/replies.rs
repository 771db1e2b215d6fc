//! The parser of replies, over all bytes and all ways that they may be cut.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tailorbird::bird::control::reply::{Event, LINE_LIMIT, Malformed, Parser, REPLY_LIMIT};

/// Everything that comes out of bytes in these pieces.
fn parse(pieces: &[&[u8]]) -> (Vec<Event>, Option<Malformed>) {
    let mut parser = Parser::default();
    let (mut events, mut error) = (Vec::new(), None);
    for piece in pieces {
        parser.feed(piece);
        loop {
            match parser.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(malformed) => {
                    error = Some(malformed);
                    break;
                }
            }
        }
    }
    (events, error)
}

fn whole(text: &str) -> (Vec<Event>, Option<Malformed>) {
    parse(&[text.as_bytes()])
}

/// The bytes in pieces, cut at these places.
fn cut<'a>(bytes: &'a [u8], places: &[Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn lines(event: &Event) -> Vec<(u16, &str)> {
    let Event::Reply(reply) = event else { panic!("{event:?} is no reply") };
    reply.lines().map(|line| (line.code, line.text)).collect()
}

#[test]
fn a_reply_is_its_lines_with_the_code_that_they_continue() {
    let (events, error) = whole("1000-BIRD 2\n1011-Router ID\n Hostname\n  deeper\n0013 up\n0000 \n");
    assert_eq!(error, None);
    assert_eq!(
        lines(&events[0]),
        [(1000, "BIRD 2"), (1011, "Router ID"), (1011, "Hostname"), (1011, " deeper"), (13, "up")]
    );
    assert_eq!(lines(&events[1]), [(0, "")]);
    let Event::Reply(reply) = &events[0] else { panic!() };
    assert_eq!((reply.code(), reply.message()), (13, "up"));
}

#[test]
fn a_notice_comes_between_any_two_lines_and_changes_none() {
    let (events, error) = whole("+early\n1000-a\n+between\n b\n0000 \n");
    assert_eq!(error, None);
    assert_eq!(events[..2], [Event::Notice("early".into()), Event::Notice("between".into())]);
    assert_eq!(lines(&events[2]), [(1000, "a"), (1000, "b"), (0, "")]);
}

#[test]
fn what_would_act_on_a_terminal_is_replaced() {
    let (events, _) = parse(&[b"0000 a\x1b[2J\x00\x07\xff\tb\x7f\n"]);
    assert_eq!(lines(&events[0]), [(0, "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\tb\u{fffd}")]);
}

#[test]
fn lines_of_others_are_errors_and_stay_errors() {
    for text in [
        "\n",
        " continues nothing\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "001 x\n",
        "00010 x\n",
        "0001\n",
        "0001_x\n",
        "٠٠٠١ x\n",
    ] {
        let (events, error) = whole(text);
        assert!(events.is_empty() && matches!(error, Some(Malformed::Line(_))), "{text:?}: {error:?}");
    }
    let mut parser = Parser::default();
    parser.feed(b"nonsense\n");
    let first = parser.next_event().unwrap_err();
    parser.feed(b"0000 \n");
    assert_eq!(parser.next_event().unwrap_err(), first);
}

#[test]
fn a_continuation_does_not_reach_over_the_end_of_a_reply() {
    let (events, error) = whole("0000 done\n more\n");
    assert_eq!(events.len(), 1);
    assert!(matches!(error, Some(Malformed::Line(_))));
}

#[test]
fn a_line_is_as_long_as_the_limit_and_no_longer() {
    let line = |length: usize| format!("0000 {}\n", "x".repeat(length - 5));
    assert_eq!(whole(&line(LINE_LIMIT)).0.len(), 1);
    assert_eq!(whole(&line(LINE_LIMIT + 1)), (Vec::new(), Some(Malformed::LongLine)));
    // One that does not end is refused as soon as that is plain.
    let endless = "x".repeat(LINE_LIMIT + 1);
    assert_eq!(whole(&endless), (Vec::new(), Some(Malformed::LongLine)));
}

#[test]
fn a_reply_that_does_not_end_is_refused_also_if_it_is_made_of_notices() {
    let line = "x".repeat(LINE_LIMIT - 10);
    for text in [format!("1000-{line}\n"), format!("+{line}\n")] {
        let mut parser = Parser::default();
        let mut fed = 0;
        let error = loop {
            parser.feed(text.as_bytes());
            fed += text.len();
            match parser.next_event() {
                Ok(_) => assert!(fed <= REPLY_LIMIT, "no end"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, Malformed::LongReply);
    }
}

/// A conversation, and what it says.
fn conversation() -> impl Strategy<Value = (String, Vec<Event>)> {
    let text = "[a-zA-Z0-9 :.\t+-]{0,40}";
    let line = (0..10_000u16, text, any::<bool>(), proptest::option::of(text));
    let reply = (vec(line, 0..8), 0..10_000u16, text);
    vec(reply, 0..5).prop_map(|replies| {
        let mut all = String::new();
        for (lines, code, last) in replies {
            let mut current = None;
            for (code, text, continues, notice) in lines {
                if let Some(notice) = notice {
                    all += &format!("+{notice}\n");
                }
                match current {
                    Some(_) if continues => all += &format!(" {text}\n"),
                    _ => {
                        all += &format!("{code:04}-{text}\n");
                        current = Some(code);
                    }
                }
            }
            all += &format!("{code:04} {last}\n");
        }
        let events = expected(&all);
        (all, events)
    })
}

/// The same by way of whole lines: slow, plain, and enough for lines that are in order.
fn expected(text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        match line.strip_prefix('+') {
            Some(notice) => events.push(Event::Notice(notice.to_owned())),
            None => {
                open += &format!("{line}\n");
                if line.as_bytes()[0] != b' ' && line.as_bytes()[4] == b' ' {
                    events.extend(whole(&std::mem::take(&mut open)).0);
                }
            }
        }
    }
    events
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_the_same(bytes in vec(any::<u8>(), 0..400), places in vec(any::<Index>(), 0..8)) {
        prop_assert_eq!(parse(&cut(&bytes, &places)), parse(&[&bytes]));
    }

    #[test]
    fn bytes_near_to_a_reply_in_any_pieces_give_the_same(
        text in "([0-9]{3,5}[ +-]?[a-z\n]{0,4}|[ +][a-z]{0,3}\n|\n){0,30}", places in vec(any::<Index>(), 0..8),
    ) {
        prop_assert_eq!(parse(&cut(text.as_bytes(), &places)), whole(&text));
    }

    #[test]
    fn a_conversation_in_any_pieces_says_the_same((text, events) in conversation(), places in vec(any::<Index>(), 0..12)) {
        prop_assert_eq!(parse(&cut(text.as_bytes(), &places)), (events, None));
    }
}
