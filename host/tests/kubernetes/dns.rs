//! A name server that says what a test has it say.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::SRV;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// Priority, weight, port and target.
pub(crate) type Srv = (u16, u16, u16, &'static str);

/// What it says.
#[derive(Debug, Clone)]
pub(crate) enum Says {
    /// The records of these names; there are no others.
    Records(BTreeMap<&'static str, Vec<Srv>>),
    /// Always the same code.
    Code(ResponseCode),
    /// Nothing that could be read.
    Garbage,
    /// Nothing.
    Nothing,
}

impl Says {
    /// The records of one name.
    pub(crate) fn records(name: &'static str, records: &[Srv]) -> Self {
        Self::Records(BTreeMap::from([(name, records.to_vec())]))
    }

    fn answer(&self, asked: &[u8], is_small: bool) -> Option<Vec<u8>> {
        let asked = Message::from_vec(asked).unwrap();
        let most = usize::from(asked.max_payload());
        let query = asked.queries[0].clone();
        let mut answer = asked.into_response();
        match self {
            Self::Records(names) => {
                let name = query.name().to_ascii();
                match names.get(name.trim_end_matches('.')).filter(|_| query.query_type() == RecordType::SRV)
                {
                    None => answer.metadata.response_code = ResponseCode::NXDomain,
                    Some(records) => {
                        answer.add_answers(records.iter().map(|(priority, weight, port, target)| {
                            let target = Name::from_ascii(target).unwrap();
                            let srv = SRV::new(*priority, *weight, *port, target);
                            Record::from_rdata(query.name().clone(), 3600, RData::SRV(srv))
                        }));
                    }
                }
            }
            Self::Code(code) => answer.metadata.response_code = *code,
            Self::Garbage => return Some(vec![0xa5; 40]),
            Self::Nothing => return None,
        }
        let whole = answer.to_vec().unwrap();
        match is_small && whole.len() > most {
            true => Some(answer.truncate().to_vec().unwrap()),
            false => Some(whole),
        }
    }
}

/// A name server; it ends with this value.
pub(crate) struct Dns {
    pub(crate) address: SocketAddr,
    says: Arc<Mutex<Says>>,
    _tasks: JoinSet<()>,
}

impl Dns {
    pub(crate) async fn start(says: Says) -> Self {
        let (listener, socket) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            // The port may be somebody else's there.
            if let Ok(socket) = UdpSocket::bind(listener.local_addr().unwrap()).await {
                break (listener, socket);
            }
        };
        let address = socket.local_addr().unwrap();
        let says = Arc::new(Mutex::new(says));
        let mut tasks = JoinSet::new();
        let shared = says.clone();
        tasks.spawn(async move {
            let mut asked = [0; 4096];
            loop {
                let (size, from) = socket.recv_from(&mut asked).await.unwrap();
                let answer = shared.lock().unwrap().answer(&asked[..size], true);
                if let Some(answer) = answer {
                    // Who has asked may have gone.
                    drop(socket.send_to(&answer, from).await);
                }
            }
        });
        let shared = says.clone();
        tasks.spawn(async move {
            let mut served = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                served.spawn(serve(stream, shared.clone()));
            }
        });
        Self { address, says, _tasks: tasks }
    }

    /// From here on it says something else.
    pub(crate) fn say(&self, says: Says) {
        *self.says.lock().unwrap() = says;
    }
}

/// Answers until the other side goes.
async fn serve(mut stream: TcpStream, says: Arc<Mutex<Says>>) {
    while let Ok(size) = stream.read_u16().await {
        let mut asked = vec![0; size.into()];
        if stream.read_exact(&mut asked).await.is_err() {
            return;
        }
        let answer = says.lock().unwrap().answer(&asked, false).unwrap_or_default();
        let framed = [&u16::try_from(answer.len()).unwrap().to_be_bytes()[..], &answer].concat();
        if stream.write_all(&framed).await.is_err() {
            return;
        }
    }
}
