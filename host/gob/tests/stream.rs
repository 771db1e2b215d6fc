//! What streams are read as, and what of a stream is refused.

#![allow(clippy::unwrap_used)]

mod support;

use serde::Deserialize;
use serde::de::IgnoredAny;
use support::*;
use tailorbird_gob::{Decoder, Encoder, Limits, Record, TypeId};

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Point {
    x: i64,
    y: i64,
}

/// The example in the documentation of Go's package: `Point{22, 33}`.
#[test]
fn the_example_of_gos_documentation_is_read() {
    let bytes =
        hex("1f ff81 03 01 01 05 506f696e74 01 ff82 00 01 02 01 01 58 01 04 00 01 01 59 01 04 00 00 00 \
         07 ff82 01 2c 01 42 00");
    assert_eq!(read_all::<Point>(&bytes), Ok(vec![Point { x: 22, y: 33 }]));
}

#[test]
fn a_stream_is_read_the_same_in_pieces_of_any_size() {
    let bytes = [plain(&[1, 2, 3]), spread()].concat();
    let bytes = &bytes[..];
    let whole = read_all::<Envelope>(&plain(&[1, 2, 3])).unwrap();
    assert_eq!(whole.len(), 3);
    for size in 1..bytes.len() {
        let (values, failed) = read_pieces(bytes, size, Limits::default());
        assert_eq!(values, whole, "pieces of {size}");
        // The second stream defines the same numbers again.
        let failed = failed.expect("an error");
        assert_eq!(failed.reason, "type 64 is defined a second time", "pieces of {size}");
    }
}

#[test]
fn definitions_in_the_midst_of_a_value_belong_to_it() {
    let bytes = spread();
    let value = Envelope {
        message: Some(Message::List(List { items: vec![Item { name: "a".into(), ..Item::default() }] })),
    };
    assert_eq!(read_all::<Envelope>(&bytes), Ok(vec![value]));
    let mut decoder = Decoder::new(Limits::default());
    for (at, byte) in bytes.iter().enumerate() {
        assert!(decoder.next::<Envelope>().unwrap().is_none(), "complete at byte {at}");
        decoder.push(&[*byte]);
    }
    assert!(decoder.next::<Envelope>().unwrap().is_some());
    assert_eq!(decoder.waiting(), 0);
}

#[test]
fn a_reader_that_knows_less_passes_over_the_rest() {
    #[derive(Debug, PartialEq, Default, Deserialize)]
    #[serde(default, rename_all = "PascalCase")]
    struct Less {
        size: i64,
    }
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new();
    let any = encoder.structure(&mut bytes, "Any", &[("Held", TypeId::INTERFACE), ("Size", TypeId::INT)]);
    let point = encoder.structure(&mut bytes, "Point", &[("X", TypeId::INT)]);
    encoder.write(
        &mut bytes,
        any,
        Record::new().interface(0, "a.Point", point, Record::new().int(0, 7)).int(1, -5),
    );
    encoder.write(&mut bytes, any, Record::new().int(1, 6));
    assert_eq!(read_all::<Less>(&bytes), Ok(vec![Less { size: -5 }, Less { size: 6 }]));
    assert_eq!(read_all::<IgnoredAny>(&bytes).unwrap().len(), 2);
}

#[test]
fn all_kinds_of_values_are_read() {
    #[derive(Debug, PartialEq, Default, Deserialize)]
    #[serde(default)]
    struct All {
        flag: bool,
        count: u32,
        number: i16,
        half: f64,
        bytes: Vec<u8>,
        list: Vec<Vec<u64>>,
        map: std::collections::BTreeMap<String, i64>,
        pair: [u8; 2],
        some: Option<u64>,
        none: Option<u64>,
    }
    let names = ["flag", "count", "number", "half", "list", "map", "pair", "some", "none", "complex"];
    let kinds = [1, 3, 2, 4, 65, 67, 68, 3, 3, 7];
    let bytes = [
        definition(64, 2, &fields(&names, &kinds)),
        definition(65, 1, &[&[1u8][..], &int(66)].concat()),
        definition(66, 1, &[&[1u8][..], &int(3)].concat()),
        definition(67, 3, &[&[1u8][..], &int(6), &[1], &int(2)].concat()),
        definition(68, 0, &[&[1u8][..], &int(3), &[1], &int(2)].concat()),
        message(&hex("ff80 01 01 01 07 01 03 01 fe e03f 01 02 01 05 00 01 01 01 61 03 01 02 08 09 01 04 00")),
    ];
    let all = read_all::<All>(&bytes.concat()).unwrap();
    let expected = All {
        flag: true,
        count: 7,
        number: -2,
        half: 0.5,
        bytes: Vec::new(),
        list: vec![vec![5], vec![]],
        map: [("a".to_owned(), -2)].into(),
        pair: [8, 9],
        some: Some(4),
        none: None,
    };
    assert_eq!(all, [expected]);
}

#[test]
fn what_cannot_be_trusted_is_refused_with_its_place() {
    let envelope = envelope_definition();
    let after = envelope.len() as u64;
    let with = |parts: &[&[u8]]| [&envelope[..], &parts.concat()].concat();
    let item = |name: &str, rest: &[u8]| message(&[&hex("ff80 01")[..], &text(name), rest].concat());
    let cases: [(&str, Vec<u8>, u64, &str); 16] = [
        ("a length of 2 GiB", hex("fc 80000000"), 0, "a message of 2147483648 bytes is larger than"),
        ("a length of 2^64-1", hex("f8 ffffffffffffffff"), 0, "larger than"),
        ("a length of nine bytes", hex("f7"), 0, "a number of 9 bytes"),
        ("a type defined twice", with(&[&envelope]), after, "type 64 is defined a second time"),
        ("gob's own type", definition(2, 1, &[&[1u8][..], &int(2)].concat()), 0, "is one of gob's own"),
        (
            "a type that was never defined",
            with(&[&message(&hex("ff8a 00"))]),
            after,
            "type 69 was never defined",
        ),
        (
            "two definitions in one message",
            with(&[&message(&hex("ff81 03 01 00 00 00 00"))]),
            after,
            "followed by",
        ),
        ("a definition that says nothing", with(&[&message(&hex("ff81 00"))]), after, "says nothing"),
        ("a definition of another form", with(&[&message(&hex("ff81 09 00"))]), after, "unknown form"),
        (
            "an unknown name",
            with(&[&item("a.Stranger", &hex("0c 02 00 00 00"))]),
            after,
            "unknown variant `a.Stranger`",
        ),
        (
            "a field that there is not",
            with(&[&message(&hex("ff80 03 00"))]),
            after,
            "field 2 of a struct of 1",
        ),
        (
            "fields without end",
            with(&[&message(&hex("ff80 f8 ffffffffffffffff"))]),
            after,
            "further than the last",
        ),
        ("bytes behind a value", with(&[&message(&hex("ff80 00 00"))]), after, "1 bytes are left"),
        (
            "a text longer than its message",
            with(&[&message(&hex("ff80 01 7f 61"))]),
            after,
            "127 bytes are announced",
        ),
        (
            "a value longer than it says",
            with(&[&item("a.Text", &hex("0c 02 00 02 61 62 00"))]),
            after,
            "not as long as",
        ),
        ("an end in the midst", with(&[&message(&hex("ff80 01"))]), after, "ends within a value"),
    ];
    for (what, bytes, least, reason) in cases {
        let error = read_all::<Envelope>(&bytes).expect_err(what);
        assert!(error.reason.contains(reason), "{what}: {error}");
        assert!(error.offset >= least && error.offset <= bytes.len() as u64, "{what}: {error}");
    }
}

#[test]
fn a_type_within_itself_ends_at_a_depth() {
    let endless = definition(65, 1, &[&[1u8][..], &int(65)].concat());
    let lists = |depth: usize| {
        let value = message(&[&hex("ff82 00")[..], &vec![1; depth], &[0]].concat());
        read_all::<IgnoredAny>(&[&endless[..], &value].concat())
    };
    assert_eq!(lists(32).unwrap().len(), 1);
    assert!(lists(33).unwrap_err().reason.contains("deeper than 32"));
    assert!(lists(60_000).unwrap_err().reason.contains("deeper than 32"));
}

#[test]
fn what_is_too_much_is_refused() {
    let limits =
        Limits { elements: 100, types: 3, definitions: 200, spread: 2, message: 1000, ..Limits::default() };
    let read = |bytes: &[u8]| {
        let mut decoder = Decoder::new(limits);
        decoder.push(bytes);
        while let Some(IgnoredAny) = decoder.next()? {}
        Ok::<(), tailorbird_gob::Error>(())
    };
    let slice = definition(64, 1, &[&[1u8][..], &int(3)].concat());
    let list = |count: u8| message(&[&hex("ff80 00")[..], &[count], &vec![1; count.into()]].concat());
    assert_eq!(read(&[&slice[..], &list(100), &list(100)].concat()), Ok(()));
    let told = |bytes: &[&[u8]]| read(&bytes.concat()).expect_err("too much").reason;
    assert!(told(&[&slice, &list(101)]).contains("more than the 100 elements"));
    assert!(told(&[&message(&[0; 1001])]).contains("1001 bytes is larger"));
    let types: Vec<u8> = (64..68).flat_map(|id| definition(id, 1, &[&[1u8][..], &int(3)].concat())).collect();
    assert!(told(&[&types]).contains("the 3 types and 200 bytes"));
    let long = "x".repeat(200);
    assert!(told(&[&definition(64, 2, &fields(&[&long], &[3]))]).contains("200 bytes"));
    let spread: Vec<u8> = (0..3)
        .flat_map(|at| {
            let definition = definition_payload(65 + at, 4, &[]);
            message(&if at == 0 {
                [&hex("ff80 01")[..], &text("n"), &definition].concat()
            } else {
                definition
            })
        })
        .collect();
    assert!(told(&[&envelope_definition(), &spread]).contains("over more than 2 messages"));
}

#[test]
fn what_is_written_is_read() {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new();
    let envelope = encoder.structure(&mut bytes, "Envelope", &[("Message", TypeId::INTERFACE)]);
    let texts = encoder.slice(&mut bytes, "[]string", TypeId::TEXT);
    let time = encoder.opaque(&mut bytes, "Time");
    let item = encoder.structure(
        &mut bytes,
        "Item",
        &[
            ("Name", TypeId::TEXT),
            ("Tags", texts),
            ("At", time),
            ("Flag", TypeId::BOOL),
            ("Size", TypeId::UINT),
        ],
    );
    let items = encoder.slice(&mut bytes, "[]Item", item);
    let list = encoder.structure(&mut bytes, "List", &[("Items", items)]);
    let records = [
        Record::new().text(0, "a").texts(1, &["x", ""]).bytes(2, &[1, 2]).bool(3, true).uint(4, 300),
        Record::new(),
    ];
    let held = Record::new().interface(0, "a.List", list, Record::new().records(0, records));
    encoder.write(&mut bytes, envelope, held);
    let full = Item {
        name: "a".into(),
        tags: vec!["x".into(), String::new()],
        at: vec![1, 2],
        flag: true,
        size: 300,
    };
    let expected = Envelope { message: Some(Message::List(List { items: vec![full, Item::default()] })) };
    assert_eq!(read_all::<Envelope>(&bytes), Ok(vec![expected]));
}
