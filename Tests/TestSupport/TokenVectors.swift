/// Keys and tokens that were made with another implementation (Python's `cryptography`), only for these tests. The
/// claims of the tokens:
/// `{"iss":"https://auth.example","sub":"alice","aud":"tidegate","exp":1790003600,"nbf":1789999000,"iat":1789999000,"tidegate":{"channels":["trades","book"],"symbols":["kraken:*"],"subscriptions":10}}`.
package enum TokenVectors {
  /// RSA of 2048 bits.
  package static let rsaKey = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAriDGrcrxqFipGPjVwl3i
    Xsv5aY2FUL0GpmekNAaqUA90rc/n6DTK1hyZieGY35SkPRhbOV9cI72cgDDdGLxm
    5qTNFU5bRPpB3xI6zhwI/UsbugNSXygWTLZDPKQgM279zw1mIjzv3a91p2FgePoU
    0lbSupdfEtm+Mvnkq3HMP9kO0g3jjMomppHmmIka35up1cWzLK/DPLWB5Rdt17Pp
    Ry7mG95tc3wewX8HT2/ta2b0MY/CUpOL0MtDQHgz0LtjbC6UJmzCNaF5pcm6fezV
    N6i1vsjKWDBbO5BfJaiHmHARNty9Rtk/gVyEfPItmjplK1lNUc/kDGqjxgZdgHgn
    1QIDAQAB
    -----END PUBLIC KEY-----
    """ + "\n"

  /// EC on P-256.
  package static let ecKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwoUVf+stjpJ8NLprgTW+HF+8TcDB
    t/wwpPRSiHm0pNo9JNuD518atVe4xZkjS/uK4Hs94TnWr0qWRvHxO7AdGQ==
    -----END PUBLIC KEY-----
    """ + "\n"

  /// An expired certificate of the same key.
  package static let ecCertificate = """
    -----BEGIN CERTIFICATE-----
    MIIBCjCBsaADAgECAgEHMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBGF1dGgwHhcN
    MjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDARhdXRoMFkw
    EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwoUVf+stjpJ8NLprgTW+HF+8TcDBt/ww
    pPRSiHm0pNo9JNuD518atVe4xZkjS/uK4Hs94TnWr0qWRvHxO7AdGTAKBggqhkjO
    PQQDAgNIADBFAiAeMdVnAwtzMwGXix4r7VcSnQrU0tAV9R5zHTI8eLWwyAIhAJmx
    j9ypjXzc+HWcDB8bNAOaYhKp7+Tkfki25HUEl3bC
    -----END CERTIFICATE-----
    """ + "\n"

  /// The private key, which a gateway must not have.
  package static let ecPrivateKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDVreOckLWcpGo71P
    hIWHydwTMkYpsuWwd64OsUpcWO+hRANCAATChRV/6y2Oknw0umuBNb4cX7xNwMG3
    /DCk9FKIebSk2j0k24PnXxq1V7jFmSNL+4rgez3hOdavSpZG8fE7sB0Z
    -----END PRIVATE KEY-----
    """ + "\n"

  /// RSA of 1024 bits.
  package static let smallRSAKey = """
    -----BEGIN PUBLIC KEY-----
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC5qWp9V9sYy4OkmiQ/n/DxUkY1
    3qn5UhLGiBqVM+0PtiEBRmL1mIMw3YJs320KplOplrheHFnbug0DbLzvm4n2nmL/
    yhqQ0UB2XBq/BmesR7lB1zGLgWpCZI8/O3JXpK3VKjWihk2YoY3he02qHApnJ+4b
    CyRnqZixDYptOEuwUQIDAQAB
    -----END PUBLIC KEY-----
    """ + "\n"

  /// EC on P-384.
  package static let p384Key = """
    -----BEGIN PUBLIC KEY-----
    MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEXM987G5kFARYBGK/r9QxwWaibgQVle6Y
    xd4oDZSMABcdvbifPgf4sjREayl2njpLlah5j4RNChnT+N5tmJzBVwWzBnOQwMYM
    92N1Hds2lXef/OsHJR+egSBFhTLAtVQA
    -----END PUBLIC KEY-----
    """ + "\n"

  /// Ed25519.
  package static let ed25519Key = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAiwsjRfpUS4pR9ZB4ilOI9z5SbDahaJA02GWOWL1CVm8=
    -----END PUBLIC KEY-----
    """ + "\n"

  /// Kid `rsa-1`.
  package static let rs256 =
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImFs"
    + "aWNlIiwiYXVkIjoidGlkZWdhdGUiLCJleHAiOjE3OTAwMDM2MDAsIm5iZiI6MTc4OTk5OTAwMCwiaWF0IjoxNzg5OTk5MDAwLCJ0aWRlZ2F0"
    + "ZSI6eyJjaGFubmVscyI6WyJ0cmFkZXMiLCJib29rIl0sInN5bWJvbHMiOlsia3Jha2VuOioiXSwic3Vic2NyaXB0aW9ucyI6MTB9fQ.diG0m"
    + "-i2iksZgaHQNPx9HJM0BxJ5Ggp_iNmNz8DQcFSydyDqBDtRh-IFFvC6v62LaLiCcLPw_2X5fbmnFFslYtnN6P79SuIBrSJnYu0qbL5O4X36n"
    + "6StuewDiDZz4VGNsnbe9_QVJl81d92bG4w1A_EtuzBMxtM9s4H73Wg0HvgKs6qKw_2wPl9yxpe4Du3G5ya8iCuj9PpHG6V4gkJcD9Hr9VKfM"
    + "YB_WpCQdUtcCEXXraFcgeYnqI9ynEKG3HoKnq_W9KabI3Ssc5XLuAoKPJXvrbCGc9iKaue3-J3jZ2ZfEqyiipqEvr4KcQ5ZH7MBDkiZfuPBN"
    + "iRfn1ZteC67Rw"

  /// Kid `ec-1`.
  package static let es256 =
    "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImFsa"
    + "WNlIiwiYXVkIjoidGlkZWdhdGUiLCJleHAiOjE3OTAwMDM2MDAsIm5iZiI6MTc4OTk5OTAwMCwiaWF0IjoxNzg5OTk5MDAwLCJ0aWRlZ2F0Z"
    + "SI6eyJjaGFubmVscyI6WyJ0cmFkZXMiLCJib29rIl0sInN5bWJvbHMiOlsia3Jha2VuOioiXSwic3Vic2NyaXB0aW9ucyI6MTB9fQ.2bkzl_"
    + "NvmZojrv8YcS_41CBD8Ysvj_L1Aj1xNBfNOgsXJ1LlVtwJQuG-A6pf0DC-PBNUkDD-JTZeAIpHd7Hfxg"

  /// Kid `hmac-1`, secret: the bytes 0 to 31.
  package static let hs256 =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImhtYWMtMSJ9.eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImF"
    + "saWNlIiwiYXVkIjoidGlkZWdhdGUiLCJleHAiOjE3OTAwMDM2MDAsIm5iZiI6MTc4OTk5OTAwMCwiaWF0IjoxNzg5OTk5MDAwLCJ0aWRlZ2F"
    + "0ZSI6eyJjaGFubmVscyI6WyJ0cmFkZXMiLCJib29rIl0sInN5bWJvbHMiOlsia3Jha2VuOioiXSwic3Vic2NyaXB0aW9ucyI6MTB9fQ.i9j9"
    + "YbAvhTJX7Wf6Qf6GJGpCpD00t-Yr87IDRGOEJlU"

  /// PSS padding, with the header of PS256.
  package static let ps256 =
    "eyJhbGciOiJQUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImFs"
    + "aWNlIiwiYXVkIjoidGlkZWdhdGUiLCJleHAiOjE3OTAwMDM2MDAsIm5iZiI6MTc4OTk5OTAwMCwiaWF0IjoxNzg5OTk5MDAwLCJ0aWRlZ2F0"
    + "ZSI6eyJjaGFubmVscyI6WyJ0cmFkZXMiLCJib29rIl0sInN5bWJvbHMiOlsia3Jha2VuOioiXSwic3Vic2NyaXB0aW9ucyI6MTB9fQ.LKb0v"
    + "TlB4eH2fbn6bJjr_3GfP97ivjfHXFugKFyIU_D9eUOAhJwoZP7kL6QzDhb1OCtHDWZfem66w9exAJQdVLkjRE2PwYWSSN9RvNqulbRF4JIAh"
    + "HCCAYU-dq0_7n5fRGToR9hjQI3bq4Nxr-2EeeFHfNJzDwcQJ1Kcg7S4Ima9FQu74Lihz-fD7zcPpZKZg57pvCApQ_3x4Ge3NeYWNG48t7C9x"
    + "JkTMOgniZ6E75I8Y8KcXdeLKz04gpBf1cKbLXde9I8q8Ny5toJePN2PRjxinyjpvB2AtMLWTq2h42K1l7Ta02eQvfw7hBblmmA3PgktshbDo"
    + "h1OcbotvcThbQ"

  /// PSS padding under the header of RS256.
  package static let pssAsRS256 =
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImFs"
    + "aWNlIiwiYXVkIjoidGlkZWdhdGUiLCJleHAiOjE3OTAwMDM2MDAsIm5iZiI6MTc4OTk5OTAwMCwiaWF0IjoxNzg5OTk5MDAwLCJ0aWRlZ2F0"
    + "ZSI6eyJjaGFubmVscyI6WyJ0cmFkZXMiLCJib29rIl0sInN5bWJvbHMiOlsia3Jha2VuOioiXSwic3Vic2NyaXB0aW9ucyI6MTB9fQ.c4cze"
    + "PD8LHyhKzD0NJD-rl9v-mecy4Xum6fqc2gx4PofaPlqxbFiVYUblaDaTqhPThvl_0pLaqMCkRXYvAfRypdLUlvXysGDibNO54JMo7nJtBsvf"
    + "zjFPD9UVAX1DVnysnFCZI8Hr8j-OuKADpl4AmHCeaLDDJwq1CNPb04uv8f-WyL0UpO5SatgZb4nUH90vFD2HKNdHFmI3akmhYJkP86zZ1Wkp"
    + "rRIvw_H0vVEQe2rU6xxeq-G_rbiW97uYzZx-JQxZhVJ39XTWsLweTvt3Z4dq0StwrjV40TT4ISmbPWRLIOotsXpZO8YcjA0kEbAvxhc0Fm7b"
    + "tBsdoHBxEky5A"

  /// The signature of `es256` as DER, which is OpenSSL's format, but not that of JWS.
  package static let derES256 =
    "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImFsa"
    + "WNlIiwiYXVkIjoidGlkZWdhdGUiLCJleHAiOjE3OTAwMDM2MDAsIm5iZiI6MTc4OTk5OTAwMCwiaWF0IjoxNzg5OTk5MDAwLCJ0aWRlZ2F0Z"
    + "SI6eyJjaGFubmVscyI6WyJ0cmFkZXMiLCJib29rIl0sInN5bWJvbHMiOlsia3Jha2VuOioiXSwic3Vic2NyaXB0aW9ucyI6MTB9fQ.MEUCIQ"
    + "DZuTOX82-ZmiOu_xhxL_jUIEPxiy-P8vUCPXE0F806CwIgFydS5VbcCULhvgOqX9AwvjwTVJAw_iU2XgCKR3ex38Y"

  /// HS256 with the text of the RSA public key as its secret.
  package static let confused =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImFs"
    + "aWNlIiwiYXVkIjoidGlkZWdhdGUiLCJleHAiOjE3OTAwMDM2MDAsIm5iZiI6MTc4OTk5OTAwMCwiaWF0IjoxNzg5OTk5MDAwLCJ0aWRlZ2F0"
    + "ZSI6eyJjaGFubmVscyI6WyJ0cmFkZXMiLCJib29rIl0sInN5bWJvbHMiOlsia3Jha2VuOioiXSwic3Vic2NyaXB0aW9ucyI6MTB9fQ.4bl3t"
    + "qgGKpXmMcuMfKqR7VGhPQwoa_8j1QrnByrIVDg"
}
